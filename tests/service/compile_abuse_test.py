#!/usr/bin/env python3
"""Specs that stall their worker, workers that are killed, many cold clients, and an end in the middle
of compilations: each request has its answer, and nobody else's is lost. Needs NVRTC.

usage: compile_abuse_test.py ATTNCD ATTNC
"""
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import nvrtc
from attncd import Attncd

ATTNCD = ATTNC = None
SLOW = 5 if "ASAN_OPTIONS" in os.environ else 1  # how much longer everything takes


def spec(name, body):
    return json.dumps({"attnc": 1, "name": name, "inputs": {"x": "f32[i, j]"}, "body": body,
                       "outputs": {"z": "f32"}})


def small(name):
    """A moment of work; another key for each name."""
    return spec(name, ["z = x * 2"])


def repeated(times, carry, body):
    return {"repeat": times, "carry": carry, "body": body}


def long_kernel(name="long"):
    """A minute for NVRTC."""
    return spec(name, ["z = x", repeated(9999, ["z"], ["z = tanh(z) + x"])])


STALLING = {
    "a kernel of 9999 steps": long_kernel(),
    "ten thousand statements": spec("statements", ["a0 = x"] + [
        f"a{n} = tanh(a{n - 1}) + x" for n in range(1, 10000)] + ["z = a9999"]),
    "an expression that doubles": spec("doubling", [
        "u = x", repeated(30, ["u"], ["w = max(j, u)", "u = u / (1 + abs(w))"]), "z = u"]),
    "a thousand kernels": spec("kernels", [
        "k = exp(x)", "v = sum(i, k)",
        repeated(500, ["v"], ["u = 1 / sum(j, k * v)", "v = 1 / sum(i, k * u)"]), "z = k * v"]),
}


class Compile(unittest.TestCase):
    def compile(self, daemon, text, **more):
        body = json.dumps({"name": "test.json", "text": text, "target": "sm_80", **more})
        connection = daemon.connect(timeout=150)
        try:
            return daemon.request("POST", "/v1/compile", body, connection=connection)
        finally:
            connection.close()

    def later(self, daemon, text):
        """A compilation that goes on meanwhile."""
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        return pool.submit(self.compile, daemon, text)

    def workers(self, daemon):
        process = daemon.process.pid
        children = set()
        for thread in pathlib.Path(f"/proc/{process}/task").iterdir():
            children.update(map(int, (thread / "children").read_text(encoding="ascii").split()))
        return sorted(children)

    def wait_for(self, daemon, metric, value):
        for _ in range(2000 * SLOW):
            if daemon.metrics()[metric] == value:
                return
            time.sleep(0.01)
        self.fail(f"{metric} is {daemon.metrics()[metric]}, not {value}")

    def test_a_spec_that_stalls_its_worker_is_ended_and_costs_nobody_else(self):
        with Attncd(ATTNCD, "--workers", "2", "--time-limit", str(2 * SLOW)) as daemon:
            for number, (what, text) in enumerate(STALLING.items()):
                with self.subTest(what):
                    begin = time.monotonic()
                    stalled = self.later(daemon, text)
                    answer = self.compile(daemon, small(f"beside_{number}"))
                    self.assertEqual(answer.status, 200, answer.body[:500])
                    answer = stalled.result()
                    self.assertLess(time.monotonic() - begin, 6 * SLOW)
                    self.assertEqual(answer.status, 422, answer.body[:500])
                    error = answer.error()
                    self.assertIn(error["limit"], ("time", "kernels"))
                    self.assertTrue(error["message"])
                    self.assertTrue(error["remedy"])

    def test_a_worker_that_is_killed_costs_its_own_request_alone(self):
        # AddressSanitizer answers SIGSEGV with a report and an exit code.
        for name in ("SIGKILL", "SIGABRT") + (("SIGSEGV",) if SLOW == 1 else ()):
            with self.subTest(name), Attncd(ATTNCD, "--workers", "1") as daemon:
                victim = self.later(daemon, long_kernel())
                self.wait_for(daemon, "attncd_compile_running", 1)
                waiting = self.later(daemon, small("behind"))
                self.wait_for(daemon, "attncd_compile_waiting", 1)
                worker, = self.workers(daemon)
                os.kill(worker, getattr(signal, name))
                answer = victim.result()
                self.assertEqual(answer.status, 500)
                self.assertIn(name.removeprefix("SIG"), answer.error()["message"].upper())
                self.assertEqual(waiting.result().status, 200)
                self.assertEqual(daemon.request("GET", "/readyz").status, 200)

    def test_a_worker_that_is_stopped_ends_at_the_limit(self):
        with Attncd(ATTNCD, "--workers", "1", "--time-limit", "1") as daemon:
            worker, = self.workers(daemon)
            os.kill(worker, signal.SIGSTOP)
            answer = self.compile(daemon, small("stopped"))
            self.assertEqual((answer.status, answer.error()["limit"]), (422, "time"))
            self.assertEqual(self.compile(daemon, small("after")).status, 200)

    def test_workers_that_are_killed_all_the_time_leave_a_service_that_works(self):
        with Attncd(ATTNCD, "--workers", "2") as daemon:
            stop = threading.Event()

            def killer():
                while not stop.wait(0.1):
                    for worker in self.workers(daemon)[:1]:
                        os.kill(worker, signal.SIGKILL)

            thread = threading.Thread(target=killer)
            thread.start()
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda n: self.compile(daemon, small(f"killed_{n}")).status,
                                        range(24)))
            stop.set()
            thread.join()
            self.assertLessEqual(set(answers), {200, 500})
            self.assertEqual(len(answers), 24)
            self.assertEqual(self.compile(daemon, small("afterwards")).status, 200)

    def test_eight_cold_clients_compile_each_key_once(self):
        specs = ("causal", "full")
        with Attncd(ATTNCD) as daemon:
            key, token = daemon.key_file, daemon.write("token", daemon.tokens["all"])

            def client(number):
                environment = {**os.environ, "ATTNC_NVRTC": "/none", "ATTNC_REMOTE": "http://" +
                               daemon.address.partition(":")[2], "ATTNC_REMOTE_KEY_FILE": str(key),
                               "ATTNC_REMOTE_TOKEN_FILE": str(token),
                               "ATTNC_CACHE_DIR": str(daemon.folder / f"cold-{number}")}
                programs = []
                for name in specs:
                    output = daemon.folder / f"{name}-{number}.program"
                    ended = subprocess.run(
                        [ATTNC, "compile", name, "--target", "sm_80", "--json", "-o", str(output)],
                        env=environment, capture_output=True, text=True, check=False)
                    self.assertEqual(ended.returncode, 0, ended.stderr)
                    self.assertEqual(json.loads(ended.stdout)["tier"], "remote")
                    programs.append(output.read_bytes())
                return programs

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                outcomes = list(pool.map(client, range(8)))
            self.assertTrue(all(programs == outcomes[0] for programs in outcomes))
            metrics = daemon.metrics()
            # Others have joined, or came when it was on disk.
            self.assertEqual(metrics['attncd_compile_jobs_total{result="compiler"}'], len(specs))
            daemon.terminate()  # its log is whole
            asked = [line for line in daemon.log if line.get("path") == "/v1/compile"]
            self.assertEqual(len(asked), metrics["attncd_compile_joined_total"] + sum(
                metrics[f'attncd_compile_jobs_total{{result="{source}"}}']
                for source in ("compiler", "disk", "remote")))

    def test_sigterm_answers_every_compilation_that_was_accepted(self):
        def status(daemon, number):
            try:
                return self.compile(daemon, small(f"draining_{number}")).status
            except ConnectionRefusedError:
                return None  # it came when nobody listened any more
        with Attncd(ATTNCD, "--workers", "2") as daemon:
            with concurrent.futures.ThreadPoolExecutor(12) as pool:
                answers = [pool.submit(status, daemon, n) for n in range(12)]
                accepted = 0
                while accepted < 8 and not all(answer.done() for answer in answers):
                    metrics = daemon.metrics()
                    accepted = metrics["attncd_compile_running"] + metrics["attncd_compile_waiting"]
                daemon.process.send_signal(signal.SIGTERM)
                statuses = [answer.result() for answer in answers]
            self.assertEqual(daemon.process.wait(30), 0)
            # Who came after the signal, or had sent a part of the request, was sent elsewhere.
            self.assertLessEqual(set(statuses), {200, 503, None})
            self.assertGreaterEqual(statuses.count(200), max(accepted, 1))


if __name__ == "__main__":
    ATTNCD, ATTNC = sys.argv[1:3]
    del sys.argv[1:3]
    nvrtc.needed_by("compile_abuse_test", ATTNC)
    unittest.main()
