#!/usr/bin/env python3
"""The simulation of a fleet (bench/fleet.py): what must hold whatever happens, and cases whose
result is known.

usage: fleet_test.py
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import fleet  # noqa: E402


def parameters(**given):
    """A small fleet in which only what a test asks for takes time."""
    keys = given.pop("keys", 6)
    free = dict(machines=10, processes_per_machine=4, common_keys=2, own_keys=3,
                compile_seconds=(1.0,) * keys, entry_bytes=(1000,) * keys, disk_seconds=0.0,
                round_trip=0.0, get_seconds=0.0, put_seconds=0.0, handshake_seconds=0.0,
                card_bytes_per_second=float("inf"))
    return fleet.Parameters(**{**free, **given})


class Fleet(unittest.TestCase):
    def test_every_process_is_ready_once_and_every_wish_has_one_source(self):
        for given in (dict(shards=0), dict(shards=0, shares_disk=False), dict(), dict(warm=True),
                      dict(has_nvrtc=False), dict(shards=3), dict(shards=3, dead_shards=1),
                      dict(shards=3, dead_shards=3), dict(max_connections=5),
                      dict(has_nvrtc=False, max_connections=5),
                      dict(has_nvrtc=False, shards=3, dead_shards=1)):
            with self.subTest(given):
                chosen = parameters(round_trip=0.001, get_seconds=0.001, **given)
                result = fleet.simulate(chosen)
                self.assertEqual(result["ready"], chosen.processes())
                by_machines = result["compilations"] - result["compilations_by_servers"]
                self.assertEqual(result["from_disk"] + result["from_servers"] + by_machines +
                                 result["without_a_program"], chosen.processes() * 5)

    def test_the_same_seed_gives_the_same_and_another_gives_another(self):
        chosen = parameters(compile_seconds=(0.5, 1, 2, 3, 5, 7, 11, 13), keys=8, get_seconds=0.01)
        self.assertEqual(fleet.simulate(chosen, 3), fleet.simulate(chosen, 3))
        self.assertNotEqual(fleet.simulate(chosen, 3), fleet.simulate(chosen, 4))

    def test_alone_each_process_compiles_each_of_its_keys(self):
        result = fleet.simulate(parameters(shards=0, shares_disk=False))
        self.assertEqual(result["compilations"], 40 * 5)
        self.assertEqual(result["seconds_until_ready"], {"50%": 5.0, "99%": 5.0, "all": 5.0})

    def test_a_disk_cache_compiles_each_key_once_a_machine(self):
        result = fleet.simulate(parameters(shards=0, keys=5))  # all want the same
        self.assertEqual(result["compilations"], 10 * 5)

    def test_a_service_that_compiles_does_so_once_a_key(self):
        result = fleet.simulate(parameters(has_nvrtc=False))
        self.assertEqual((result["compilations"], result["compilations_by_servers"]), (6, 6))

    def test_a_warm_service_leaves_nothing_to_compile(self):
        self.assertEqual(fleet.simulate(parameters(warm=True))["compilations"], 0)

    def test_one_core_with_a_fixed_time_serves_one_after_the_other(self):
        # 40 processes, a request each, 0.25 s of the only core: number n is ready after n / 4.
        result = fleet.simulate(parameters(
            warm=True, shares_disk=False, common_keys=1, own_keys=0, server_cores=1,
            get_seconds=0.25))
        self.assertEqual(result["seconds_until_ready"], {"50%": 5.0, "99%": 10.0, "all": 10.0})
        self.assertEqual(result["shards"][0]["requests"], 2 * 40)  # and a connection each

    def test_the_network_card_bounds_what_is_sent(self):
        result = fleet.simulate(parameters(
            warm=True, shares_disk=False, common_keys=1, own_keys=0, card_bytes_per_second=4000))
        self.assertEqual(result["seconds_until_ready"]["all"], 10.0)  # 40 * 1000 / 4000
        self.assertEqual(result["shards"][0]["bytes"], 40000)

    def test_workers_compile_side_by_side(self):
        # 6 keys of a second each, 2 workers, and nobody waits for what is not wanted yet.
        result = fleet.simulate(parameters(
            has_nvrtc=False, machines=6, processes_per_machine=1, common_keys=0, own_keys=6,
            server_workers=2))
        self.assertEqual(result["compilations"], 6)
        self.assertGreaterEqual(result["seconds_until_ready"]["all"], 3.0)
        self.assertLessEqual(result["seconds_until_ready"]["all"], 6.0)

    def test_a_full_queue_is_asked_again_until_there_is_room(self):
        result = fleet.simulate(parameters(
            has_nvrtc=False, common_keys=0, own_keys=6, server_workers=1, server_queue=1))
        self.assertEqual((result["compilations"], result["without_a_program"]), (6, 0))
        self.assertGreater(result["shards"][0]["refused"], 0)

    def test_a_dead_shard_costs_a_process_one_timeout(self):
        alive = fleet.simulate(parameters(shards=3, warm=True, shares_disk=False))
        result = fleet.simulate(parameters(shards=3, dead_shards=1, warm=True, shares_disk=False))
        self.assertEqual(alive["seconds_until_ready"]["all"], 0.0)
        self.assertEqual(result["seconds_until_ready"]["all"], 0.1)
        self.assertEqual(result["compilations"], 0)
        self.assertEqual(result["shards"][0]["requests"], 0)

    def test_a_dead_shard_is_asked_to_compile_once(self):
        result = fleet.simulate(parameters(shards=2, dead_shards=1, has_nvrtc=False, machines=1,
                                           processes_per_machine=1, common_keys=40, keys=43))
        self.assertEqual((result["compilations"], result["without_a_program"]), (43, 0))
        # 43 compilations, one after the other; each breaker opens for 10, 20 and 40 s in that time.
        waits = 43 + 4 * 0.1 + 3 * 5
        self.assertLess(result["seconds_until_ready"]["all"], waits + 0.1)
        self.assertGreater(result["seconds_until_ready"]["all"], 43 + 0.1 + 5)

    def test_where_all_are_dead_the_machines_compile(self):
        result = fleet.simulate(parameters(shards=2, dead_shards=2, shares_disk=False))
        self.assertEqual(result["compilations"], 40 * 5)
        self.assertEqual(result["seconds_until_ready"]["all"], 5.2)

    def test_a_bound_on_connections_holds_and_the_refused_compile_themselves(self):
        result = fleet.simulate(parameters(warm=True, shares_disk=False, max_connections=7))
        self.assertEqual(result["shards"][0]["most_connections"], 7)
        self.assertEqual(result["compilations"], 33 * 5)

    def test_losing_a_shard_moves_its_keys_alone(self):
        orders = fleet.Fleet(parameters(shards=4, keys=400), 1).order
        owners = [[shard.number for shard in orders(key)] for key in range(400)]
        for shard in range(4):  # within five standard deviations of a quarter
            self.assertLess(abs(sum(order[0] == shard for order in owners) - 100), 44)
        survivors = [[n for n in order if n != 0] for order in owners]
        self.assertTrue(all(new[0] == old[0] for new, old in zip(survivors, owners) if old[0] != 0))


if __name__ == "__main__":
    unittest.main()
