#!/usr/bin/env python3
"""Stores that are killed, slow, lying or forged, behind attnc: each time the program is right, and
it is compiled here where the store has not given what this fleet has sealed.

usage: stores_test.py ATTNC
"""
import concurrent.futures
import hashlib
import http.server
import itertools
import json
import os
import pathlib
import random
import resource
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import redis_server
from attncd import entry_of, key_of, seal

ATTNC = None
SPEC = "causal"
# A process that takes more than its patience with a store that answers nothing, and its own work.
LONGEST_SECONDS = 12 if "ASAN_OPTIONS" not in os.environ else 60
MOST_BYTES = 1 << 30
SEAL_BYTES = 44


def of_version(entry, version):
    """The entry with another number of the format, and right otherwise."""
    front = entry[:8] + version.to_bytes(4, "little") + entry[12:56]
    return front + hashlib.sha256(front + entry[88:]).digest() + entry[88:]


class Compiled:
    """What a process has compiled: from where, and the program."""

    def __init__(self, tier, program, seconds, warnings):
        self.tier, self.program, self.seconds, self.warnings = tier, program, seconds, warnings


class StoreTest(unittest.TestCase):
    alone = None  # the program of a process without a store

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attnc-stores-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.key = secrets.token_hex(32)
        self.key_file = self.folder / "fleet.key"
        self.write_keys(self.key)
        self.processes = itertools.count()

    def write_keys(self, *keys):
        self.key_file.write_text("".join(key + "\n" for key in keys), encoding="ascii")
        self.key_file.chmod(0o600)

    def compile(self, address, **variables):
        """In a new process with an empty cache of its own."""
        number = next(self.processes)
        output = self.folder / f"{number}.program"
        environment = {**os.environ, "ATTNC_REMOTE": address,
                       "ATTNC_REMOTE_KEY_FILE": str(self.key_file),
                       "ATTNC_CACHE_DIR": str(self.folder / f"cache-{number}"), **variables}
        began = time.monotonic()
        ended = subprocess.run(
            [ATTNC, "compile", SPEC, "--target", "cpu", "--json", "-o", str(output)],
            capture_output=True, text=True, env=environment, timeout=120, check=False)
        seconds = time.monotonic() - began
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return Compiled(json.loads(ended.stdout)["tier"], output.read_bytes(), seconds,
                        ended.stderr)

    def expect_own_program(self, address, **variables):
        """The store is of no use: the process compiles, in time, and gets what it gets alone."""
        compiled = self.compile(address, **variables)
        self.check_own_program(compiled)
        return compiled

    def check_own_program(self, compiled):
        self.assertEqual(compiled.tier, "compiler")
        self.assertLess(compiled.seconds, LONGEST_SECONDS)
        if StoreTest.alone is None:
            StoreTest.alone = self.compile("").program
        self.assertEqual(compiled.program, StoreTest.alone)


class Redis(StoreTest):
    def program_of(self, server):
        """The only entry of a store that a process has filled: its name and its bytes."""
        self.assertEqual(self.compile(server.address).tier, "compiler")
        names = server.keys()
        self.assertEqual(len(names), 1)
        return names[0], server.ask("GET", names[0])

    def test_what_one_process_gives_another_takes(self):
        with redis_server.RedisServer(self.folder) as server:
            first = self.compile(server.address)
            second = self.compile(server.address)
            self.assertEqual((first.tier, second.tier), ("compiler", "remote"))
            self.assertEqual(first.program, second.program)
            self.assertEqual(second.warnings, "")

    def test_a_store_that_was_warmed_up_from_a_list_leaves_nothing_to_compile(self):
        with redis_server.RedisServer(self.folder) as server:
            specs = self.folder / "specs.list"
            specs.write_text(f"# for the next roll-out\n{SPEC} --target cpu\n", encoding="utf-8")
            environment = {**os.environ, "ATTNC_REMOTE": server.address,
                           "ATTNC_REMOTE_KEY_FILE": str(self.key_file),
                           "ATTNC_CACHE_DIR": str(self.folder / "cache-warm")}
            subprocess.run([ATTNC, "cache", "warm", str(specs)], env=environment, check=True,
                           capture_output=True)
            self.assertEqual(self.compile(server.address).tier, "remote")

    def test_who_only_reads_gives_nothing(self):
        with redis_server.RedisServer(self.folder) as server:
            self.compile(server.address, ATTNC_REMOTE_MODE="read")
            self.assertEqual(server.keys(), [])

    def test_the_seal_of_the_tests_is_that_of_attnc(self):
        with redis_server.RedisServer(self.folder) as server:
            _, stored = self.program_of(server)
            self.assertEqual(seal(self.key, stored[SEAL_BYTES:]), stored)

    def test_nothing_that_is_forged_or_damaged_is_loaded(self):
        with redis_server.RedisServer(self.folder) as server:
            name, genuine = self.program_of(server)
            content = genuine[SEAL_BYTES:]
            tier, key = name.split(":")[2:]
            flipped = random.Random(2).randrange(len(genuine))
            forgeries = {
                "no seal": content,
                "another fleet's seal": seal(secrets.token_hex(32), content),
                "a seal of zeros": genuine[:12] + bytes(32) + content,
                "a seal of another entry": seal(self.key, content + b"\0")[:SEAL_BYTES] + content,
                "cut off in the seal": genuine[:20],
                "cut off in the entry": genuine[: SEAL_BYTES + 40],
                "cut off in the value": genuine[:-1],
                "longer": genuine + b"\0",
                "a bit flipped": bytes(byte ^ (at == flipped) for at, byte in enumerate(genuine)),
                "empty": b"",
                "of another key, sealed": seal(self.key, entry_of(tier, key_of(1), b"program")),
                "of another tier, sealed": seal(self.key, entry_of("image", key, b"program")),
                "no program, sealed": seal(self.key, entry_of(tier, key, b"not a program")),
                "of another version, sealed": seal(self.key, of_version(content, 7)),
                "no entry, sealed": seal(self.key, b"attncent"),
            }
            for what, forgery in forgeries.items():
                with self.subTest(what):
                    server.ask("SET", name, forgery)
                    self.expect_own_program(server.address)
            server.ask("SET", name, genuine)
            self.assertEqual(self.compile(server.address).tier, "remote")

    def test_without_the_key_nothing_is_loaded_and_nothing_given(self):
        with redis_server.RedisServer(self.folder) as server:
            name, genuine = self.program_of(server)
            server.ask("FLUSHALL")
            compiled = self.expect_own_program(server.address, ATTNC_REMOTE_KEY_FILE="")
            self.assertIn("ATTNC_REMOTE_KEY_FILE", compiled.warnings)
            self.assertEqual(server.keys(), [])
            server.ask("SET", name, genuine)
            self.expect_own_program(server.address, ATTNC_REMOTE_KEY_FILE="")

    def test_a_key_that_others_may_write_is_not_used(self):
        with redis_server.RedisServer(self.folder) as server:
            self.program_of(server)
            self.key_file.chmod(0o622)
            self.expect_own_program(server.address)

    def test_two_keys_open_what_either_has_sealed(self):
        with redis_server.RedisServer(self.folder) as server:
            self.program_of(server)
            self.write_keys(secrets.token_hex(32), self.key)
            self.assertEqual(self.compile(server.address).tier, "remote")

    def test_a_server_that_was_killed_costs_little(self):
        with redis_server.RedisServer(self.folder) as server:
            self.program_of(server)
            server.end()
            compiled = self.expect_own_program(server.address)
            self.assertIn("left alone", compiled.warnings)
            self.assertLess(compiled.seconds, 3)
            server.start()  # with nothing in it
            self.assertEqual(self.compile(server.address).tier, "compiler")
            self.assertEqual(self.compile(server.address).tier, "remote")

    def test_a_server_that_hangs_is_waited_for_once(self):
        with redis_server.RedisServer(self.folder) as server:
            self.program_of(server)
            server.stall()
            compiled = self.expect_own_program(server.address)
            self.assertEqual(compiled.warnings.count("left alone"), 1)

    def test_a_server_that_is_killed_at_any_moment_harms_nobody(self):
        with redis_server.RedisServer(self.folder) as server:
            for turn in range(6):
                timer = threading.Timer(0.05 * turn, server.end)
                timer.start()
                self.compile(server.address)
                timer.join()
                server.start()

    def test_a_full_server_is_no_error(self):
        with redis_server.RedisServer(self.folder, "--maxmemory", "1") as server:
            self.expect_own_program(server.address)

    def test_a_password_is_asked_for(self):
        with redis_server.RedisServer(self.folder) as server:
            server.ask("CONFIG", "SET", "requirepass", "secret")
            compiled = self.expect_own_program(server.address)
            self.assertNotIn("secret", compiled.warnings)

    def test_no_lie_is_believed(self):
        def says(text, ends=False):
            def lie(connection, _):
                connection.sendall(text)
                return ends
            return lie

        def endless(start, more):
            def lie(connection, _):
                connection.sendall(start)
                while True:
                    connection.sendall(more)
            return lie

        def dripping(connection, _):
            connection.sendall(b"$50000\r\n")
            for _ in range(2000):
                connection.sendall(b"x")
                time.sleep(0.01)

        lies = {
            "wrong bytes": says(b"$5\r\nhello\r\n"),
            "a length that is too long": says(b"$100\r\nhello\r\n"),
            "a length that is too short": says(b"$2\r\nhello\r\n"),
            "a huge length": says(b"$99999999999999999999\r\n"),
            "a length beyond all memory": says(b"$9000000000000000000\r\nx"),
            "a negative length": says(b"$-5\r\n"),
            "no number": says(b"$abc\r\n"),
            "a number": says(b":5\r\n"),
            "OK": says(b"+OK\r\n"),
            "an error": says(b"-ERR no\r\n"),
            "an error of many lines": says(b"-ERR \x1b[31m\n\r\n" * 20),
            "a huge array": says(b"*2000000000\r\n"),
            "arrays in arrays": says(b"*1\r\n" * 100000),
            "an array of what was asked for": says(b"*1\r\n$5\r\nhello\r\n"),
            "two answers to each question": says(b"$-1\r\n$-1\r\n"),
            "half an answer and the end": says(b"$100\r\nab", ends=True),
            "the end": says(b"", ends=True),
            "another protocol": says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            "zeros": says(bytes(100000)),
            "a line without an end": endless(b"+", b"a" * 65536),
            "a value without an end": endless(b"$2000000000\r\n", b"a" * 65536),
            "answers without an end": endless(b"", b"$5\r\nhello\r\n" * 1000),
            "one byte at a time": dripping,
        }
        def lied_to(number_and_lie):
            folder = self.folder / f"liar-{number_and_lie[0]}"
            folder.mkdir()
            with redis_server.LyingServer(folder, number_and_lie[1]) as server:
                return self.compile(server.address), len(server.requests)

        # Some of these are waited for: side by side.
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            outcomes = list(pool.map(lied_to, enumerate(lies.values())))
        for what, (compiled, requests) in zip(lies, outcomes):
            with self.subTest(what):
                self.check_own_program(compiled)
                self.assertGreater(requests, 0)
                self.assertNotIn("\x1b", compiled.warnings)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, MOST_BYTES)


class PlainStore:
    """GET and PUT, as any HTTP server has them; `answer(handler, stored)` may do otherwise."""

    def __init__(self, answer=None):
        self.entries = entries = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                stored = entries.get(self.path)
                if answer and answer(self, stored):
                    return
                self.reply(200 if stored is not None else 404, stored or b"")

            def do_PUT(self):
                entries[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
                self.reply(201, b"")

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.reply(405, b"")

            def reply(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):  # clients that leave in the middle are meant to
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/base"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class PlainHttp(StoreTest):
    def test_what_one_process_gives_another_takes(self):
        with PlainStore() as store:
            self.assertEqual(self.compile(store.address).tier, "compiler")
            self.assertEqual([path.split("/")[:4] for path in store.entries],
                             [["", "base", "v1", "program"]])
            self.assertEqual(self.compile(store.address).tier, "remote")

    def test_nothing_that_is_forged_or_cut_off_is_loaded(self):
        with PlainStore() as store:
            self.compile(store.address)
            (path, genuine), = store.entries.items()
            tier, key = path.split("/")[3:]
            for what, forgery in {
                    "another fleet's seal": seal(secrets.token_hex(32), genuine[SEAL_BYTES:]),
                    "cut off": genuine[:-1],
                    "another key's, sealed": seal(self.key, entry_of(tier, key_of(1), b"program")),
                    "another tier's, sealed": seal(self.key, entry_of("image", key, b"image")),
                    "empty": b""}.items():
                with self.subTest(what):
                    store.entries[path] = forgery
                    self.expect_own_program(store.address)

    def test_no_answer_harms(self):
        def closes(handler, _):
            handler.close_connection = True
            return True

        def raw(text, endless=b""):
            def answer(handler, _):
                handler.wfile.write(text)
                handler.close_connection = True
                while endless:
                    handler.wfile.write(endless)
                return True
            return answer

        def slow(handler, _):
            handler.send_response(200)
            handler.send_header("Content-Length", "50000")
            handler.end_headers()
            for _ in range(2000):
                handler.wfile.write(b"x")
                time.sleep(0.01)

        for what, answer in {
                "the end": closes,
                "an error": raw(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
                "a page": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"),
                "another place": raw(b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
                                     b"Content-Length: 0\r\n\r\n"),
                "a huge length": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 90000000000000\r\n\r\n"),
                "half an answer": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\nabc"),
                "no HTTP": raw(b"$5\r\nhello\r\n"),
                "a body without an end": raw(b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 65536),
                "headers without an end": raw(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 1000),
                "one byte at a time": slow}.items():
            with self.subTest(what), PlainStore(answer) as store:
                self.expect_own_program(store.address)

    def test_the_next_address_is_asked_where_the_first_is_dead(self):
        with PlainStore() as store:
            dead = f"unix:{self.folder / 'nobody.sock'}"
            self.compile(f"{dead} {store.address}")
            compiled = self.compile(f"{dead},{store.address}")
            self.assertEqual(compiled.tier, "remote")
            self.assertIn("left alone", compiled.warnings)


if __name__ == "__main__":
    ATTNC = sys.argv.pop(1)
    unittest.main()
