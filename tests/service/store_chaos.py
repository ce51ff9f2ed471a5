#!/usr/bin/env python3
"""Processes that compile with a Redis behind them, while somebody kills it, stops it, empties it,
and changes, cuts and exchanges what it holds. Every program has to be right, in time, and when the
Redis is left in peace it has to be of use again.

usage: store_chaos.py ATTNC [--seconds N] [--seed N] [--clients N] [--report FILE] [--commit C]
"""
import argparse
import collections
import json
import os
import pathlib
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import abuse_report
import redis_server
from attncd import seal

SPECS = ("causal", "full", "lse", "softcap", "bias", "gqa", "alibi", "sliding_window")
LONGEST_SECONDS = 15 if "ASAN_OPTIONS" not in os.environ else 90


class Chaos:
    def __init__(self, attnc, folder, seed):
        self.attnc, self.folder, self.random = attnc, folder, random.Random(seed)
        key_file = folder / "fleet.key"
        key_file.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
        key_file.chmod(0o600)
        self.server = redis_server.RedisServer(folder)
        self.environment = {**os.environ, "ATTNC_REMOTE_KEY_FILE": str(key_file)}
        self.lock = threading.Lock()
        self.tiers, self.deeds, self.wrong = collections.Counter(), collections.Counter(), []
        self.most_seconds = 0.0
        self.programs = {spec: self.compile(spec, "", "alone")[1] for spec in SPECS}

    def compile(self, spec, address, name):
        """The tier and the program, with an empty cache."""
        cache, output = self.folder / f"cache-{name}", self.folder / f"{name}.program"
        began = time.monotonic()
        ended = subprocess.run(
            [self.attnc, "compile", spec, "--target", "cpu", "--json", "-o", str(output)],
            env={**self.environment, "ATTNC_REMOTE": address, "ATTNC_CACHE_DIR": str(cache)},
            capture_output=True, text=True, timeout=300, check=False)
        seconds = time.monotonic() - began
        shutil.rmtree(cache, ignore_errors=True)
        self.most_seconds = max(self.most_seconds, seconds)
        if ended.returncode or seconds > LONGEST_SECONDS:
            self.wrong.append(f"{spec}: {ended.returncode} after {seconds:.1f} s: {ended.stderr}")
            return "", b""
        return json.loads(ended.stdout)["tier"], output.read_bytes()

    def client(self, number, until):
        draw = random.Random(number)
        while time.monotonic() < until and not self.wrong:
            spec = draw.choice(SPECS)
            tier, program = self.compile(spec, self.server.address, str(number))
            with self.lock:
                self.tiers[tier] += 1
            if program != self.programs[spec]:
                self.wrong.append(f"{spec} from {tier} is another program")

    # --- what is done to the store ----------------------------------------------------------

    def kill(self):
        self.server.end()
        time.sleep(self.random.uniform(0, 0.5))
        self.server.start()

    def stop(self):
        self.server.stall()
        time.sleep(self.random.choice((0.05, 0.1, 0.2, 0.5, 1, 4)))
        self.server.process.send_signal(signal.SIGCONT)

    def empty(self):
        self.server.ask("FLUSHALL")

    def disconnect(self):
        self.server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    def refuse_writes(self):
        self.server.ask("CONFIG", "SET", "maxmemory", "1")
        time.sleep(0.3)
        self.server.ask("CONFIG", "SET", "maxmemory", "0")

    def change(self):
        """Entries that are none of this fleet, or not of their keys."""
        names = self.server.keys()
        for name in names:
            value = self.server.ask("GET", name) or b"x"
            at = self.random.randrange(len(value))
            self.server.ask("SET", name, self.random.choice((
                value[:at], value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :], value + b"\0",
                seal(secrets.token_hex(32), value[44:]), b"", self.random.randbytes(1000),
                self.server.ask("GET", self.random.choice(names)) or b"")))

    def agitate(self, until):
        deeds = (self.kill, self.stop, self.empty, self.disconnect, self.refuse_writes,
                 self.change, self.change)
        while time.monotonic() < until and not self.wrong:
            time.sleep(self.random.uniform(0, 1))
            deed = self.random.choice(deeds)
            self.deeds[deed.__name__] += 1
            try:
                deed()
            except OSError as error:  # it was killed or stopped a moment ago
                self.deeds[f"in vain: {type(error).__name__}"] += 1

    def run(self, seconds, clients):
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self.client, args=(number, until))
                   for number in range(clients)]
        threads.append(threading.Thread(target=self.agitate, args=(until,)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"seconds": seconds, "clients": clients, "tiers": dict(self.tiers),
                "deeds": dict(self.deeds), "most_seconds": round(self.most_seconds, 3)}

    def finish(self):
        """In peace, what one process gives the next one takes."""
        self.server.end()
        self.server.start()
        tiers = [self.compile(SPECS[0], self.server.address, "last")[0] for _ in range(2)]
        if tiers != ["compiler", "remote"]:
            self.wrong.append(f"afterwards the programs come from {tiers}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("attnc")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=4)
    abuse_report.add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attnc-chaos-") as folder:
        chaos = Chaos(arguments.attnc, pathlib.Path(folder), arguments.seed)
        try:
            seen = chaos.run(arguments.seconds, arguments.clients)
            chaos.finish()
        finally:
            chaos.server.end()
    seen.update(seed=arguments.seed, wrong=chaos.wrong)
    abuse_report.write(arguments, "stores", seen)
    print(json.dumps({**seen, "wrong": len(chaos.wrong)}))
    print("\n".join(chaos.wrong[:10]), file=sys.stderr)
    # A run in which the store was of no use at all has shown nothing.
    sys.exit(1 if chaos.wrong or not seen["tiers"].get("remote") else 0)


if __name__ == "__main__":
    main()
