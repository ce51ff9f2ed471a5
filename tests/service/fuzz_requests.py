#!/usr/bin/env python3
"""Sends malformed and oversized requests to attncd for some time, from several clients at once:
whole, in pieces, and with the connection ended in the middle. It has to answer as documented, give
nothing without a token, hold its memory, and still be there.

usage: fuzz_requests.py ATTNCD [--seconds N] [--seed N] [--clients N]
                        [--sanitized] [--report FILE] [--commit C]
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import socket
import struct
import sys
import threading
import time

import abuse_report
import attncd
from malformed_requests import Requests

# What docs/service.md names, and what the HTTP library says itself of a head that it cannot read.
STATUSES = {100, 200, 201, 204, 400, 401, 403, 404, 405, 409, 411, 413, 414, 417, 422, 429, 431,
            501, 503, 505, 507}
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
GROWTH_BYTES = 128 << 20 if "ASAN_OPTIONS" not in os.environ else 1 << 30


def resident(process):
    fields = pathlib.Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGESIZE")


class Campaign:
    def __init__(self, daemon, seed):
        self.daemon, self.seed = daemon, seed
        keys = [daemon.put(number, tier) for number in range(4) for tier in attncd.TIERS]
        names = [f"/v1/{tier}/".encode() for _ in range(4) for tier in attncd.TIERS]
        self.bodies = [(name + key.encode(), sealed) for name, (key, sealed) in zip(names, keys)]
        self.tokens = [token.encode() for token in daemon.tokens.values()]
        self.statuses, self.cases, self.wrong = collections.Counter(), 0, []
        self.lock = threading.Lock()

    def client(self, number, until):
        draw = random.Random(f"{self.seed} {number}")
        requests = Requests(draw, [*self.tokens, *self.tokens[:1] * 4, b"not a token", b"",
                                   self.tokens[0][:-1]],
                            self.bodies)
        while time.monotonic() < until and not self.wrong:
            data = requests.draw()
            try:
                answer = self.exchange(draw, data)
            except OSError as error:  # connections end in the middle: that is what this is about
                answer = b"" if not isinstance(error, ConnectionRefusedError) else None
            self.judge(data, answer)

    def exchange(self, draw, data):
        how = draw.randrange(10)
        with self.daemon.socket(timeout=0.15) as connection:
            if how == 0:  # leaves in the middle, without a word
                connection.sendall(data[: draw.randrange(len(data) + 1)])
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return b""
            if how == 1:  # in pieces
                step = max(1, len(data) // 8)
                for at in range(0, len(data), step):
                    connection.sendall(data[at : at + step])
                    time.sleep(0.001)
            else:
                connection.sendall(data)
            if how == 2:  # reads nothing
                return b""
            if how in (1, 3, 4, 5):  # some say that no more comes
                connection.shutdown(socket.SHUT_WR)
            parts = []
            try:
                while part := connection.recv(1 << 18):
                    parts.append(part)
            except OSError:
                pass
            return b"".join(parts)

    def judge(self, data, answer):
        if answer is None:
            return self.fail("nobody listens", data)
        statuses = [int(status) for status in STATUS.findall(answer)]
        with self.lock:
            self.cases += 1
            self.statuses.update(statuses)
        if set(statuses) - STATUSES:
            self.fail(f"statuses {statuses}", data)
        if answer and not answer.startswith(b"HTTP/1."):
            self.fail(f"the answer is no HTTP: {answer[:100]}", data)
        has_token = any(token in data for token in self.tokens)
        if not has_token and any(sealed[:44] in answer for _, sealed in self.bodies):
            self.fail("an entry without a token", data)

    def fail(self, what, data):
        self.wrong.append(f"{what}: after {data[:2000]!r}")

    def look(self):
        """Whether it is alive and well, from time to time."""
        if self.daemon.request("GET", "/healthz", token=None).status != 200:
            self.wrong.append("/healthz is not 200")
        path, sealed = self.bodies[0]
        if self.daemon.request("GET", path.decode()).body != sealed:
            self.wrong.append("an entry is not what was stored")

    def run(self, seconds, clients):
        before, most = resident(self.daemon.process.pid), 0
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self.client, args=(number, until))
                   for number in range(clients)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.5)
            try:
                self.look()
            except OSError as error:
                self.wrong.append(f"attncd does not answer: {error}")
            if self.daemon.process.poll() is not None:
                self.wrong.append(f"attncd has ended with {self.daemon.process.poll()}")
                break
            most = max(most, resident(self.daemon.process.pid))
        for thread in threads:
            thread.join()
        if most - before > GROWTH_BYTES:
            self.wrong.append(f"memory went from {before} to {most} bytes")
        return {"cases": self.cases, "statuses": dict(sorted(self.statuses.items())),
                "resident_bytes": {"before": before, "most": most}}

    def finish(self):
        """Nothing is left of all that."""
        for _ in range(100):
            metrics = self.daemon.metrics()
            rest = {name: metrics[f"attncd_{name}"] for name in
                    ("connections", "requests_in_flight", "uploads_in_flight", "upload_bytes")}
            if rest == {"connections": 1, "requests_in_flight": 1, "uploads_in_flight": 0,
                        "upload_bytes": 0}:
                break
            time.sleep(0.1)
        else:
            self.wrong.append(f"after all clients have left there is {rest}")
        texts = [line["text"] for line in self.daemon.log if line["event"] == "text"]
        if texts:
            self.wrong.append("attncd says:\n" + "".join(texts[:100]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("attncd")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--sanitized", action="store_true", help="say so in the report")
    abuse_report.add_options(parser)
    arguments = parser.parse_args()
    with attncd.Attncd(arguments.attncd, "--client-seconds", "3", "--workers", "1") as daemon:
        campaign = Campaign(daemon, arguments.seed)
        result = campaign.run(arguments.seconds, arguments.clients)
        if not campaign.wrong:
            campaign.finish()
    seen = {"sanitized": arguments.sanitized, "seed": arguments.seed,
            "seconds": arguments.seconds, "clients": arguments.clients, **result,
            "wrong": campaign.wrong}
    abuse_report.write(arguments, "malformed_requests", seen)
    print(json.dumps({**seen, "wrong": len(campaign.wrong)}))
    print("\n".join(campaign.wrong[:10]), file=sys.stderr)
    sys.exit(1 if campaign.wrong or campaign.cases < 100 else 0)


if __name__ == "__main__":
    main()
