#!/usr/bin/env python3
"""What attncd does with requests that are too large, too slow, too many or no HTTP: limits_test.py ATTNCD"""
import concurrent.futures
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from attncd import Attncd, entry_of, key_of, seal

ATTNCD = sys.argv.pop(1)
MEBIBYTE = 1 << 20


def answer_to(connection):
    """The answer that comes over a socket: status, headers, body."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.headers, response.read()


def read_to_end(connection):
    """What still comes until the other side closes; a reset is an end too."""
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(
            Attncd(ATTNCD, "--max-upload", "1MiB", "--client-seconds", "2", "--max-connections",
                   "20"))

    def setUp(self):
        # Connections of the test before it may not be closed yet.
        end = time.monotonic() + 10
        while self.daemon.metrics()["attncd_connections"] > 1 and time.monotonic() < end:
            time.sleep(0.02)

    def tearDown(self):
        self.assertIsNone(self.daemon.process.poll(), self.daemon.log[-3:])
        self.assertEqual(self.daemon.request("GET", "/readyz").status, 200)

    def open(self, text=""):
        connection = self.daemon.socket()
        self.addCleanup(connection.close)
        connection.sendall(text.encode() if isinstance(text, str) else text)
        return connection

    def head(self, method, path, *headers, token="all"):
        lines = [f"{method} {path} HTTP/1.1", "Host: attncd",
                 f"Authorization: Bearer {self.daemon.tokens[token]}", *headers]
        return "\r\n".join(lines) + "\r\n\r\n"

    def put(self, *headers, key="body"):
        return self.head("PUT", f"/v1/program/{key_of(key)}", *headers)

    def test_a_body_that_is_announced_too_large_is_refused_before_it_comes(self):
        for size in (MEBIBYTE + 45, 1 << 40, (1 << 64) - 1):
            connection = self.open(self.put(f"Content-Length: {size}", "Expect: 100-continue"))
            status, headers, body = answer_to(connection)
            self.assertEqual(status, 413)
            self.assertEqual(json.loads(body)["error"]["kind"], "too_large")
            self.assertEqual(headers["Connection"], "close")
            self.assertEqual(read_to_end(connection), b"")
        status, _, _ = answer_to(self.open(self.head("POST", "/v1/compile",
                                                     f"Content-Length: {2 * MEBIBYTE + 1}")))
        self.assertEqual(status, 413)
        status, _, _ = answer_to(self.open(self.head("GET", "/v1/status", "Content-Length: 1")))
        self.assertEqual(status, 413)

    def test_the_body_of_a_stranger_is_not_read(self):
        connection = self.open("PUT /v1/program/x HTTP/1.1\r\nHost: attncd\r\n"
                               "Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(answer_to(connection)[0], 401)
        self.assertEqual(read_to_end(connection), b"")

    def test_the_largest_entry_is_taken(self):
        value = os.urandom(MEBIBYTE - 88 - 13 - 3 * 16)
        key, sealed = self.daemon.put("large", value=value)
        self.assertLessEqual(len(sealed), MEBIBYTE + 44)
        self.assertEqual(self.daemon.request("GET", f"/v1/program/{key}").body, sealed)

    def test_chunks_are_put_together_and_counted(self):
        key = key_of("chunks")
        sealed = seal(self.daemon.key, entry_of("program", key, os.urandom(100000)))
        chunks = [sealed[i:i + 1000] for i in range(0, len(sealed), 1000)]
        self.assertEqual(self.daemon.request("PUT", f"/v1/program/{key}", iter(chunks)).status, 201)
        self.assertEqual(self.daemon.request("GET", f"/v1/program/{key}").body, sealed)
        too_many = self.daemon.request("PUT", f"/v1/program/{key}",
                                       iter([b"x" * 65536] * 17))
        self.assertEqual((too_many.status, too_many.error()["kind"]), (413, "too_large"))
        self.assertEqual(self.daemon.metrics()["attncd_upload_bytes"], 0)

    def test_chunks_without_an_end_are_cut_off(self):
        connection = self.open(self.put("Transfer-Encoding: chunked"))
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        with self.assertRaises(OSError):
            for _ in range(1000):
                connection.sendall(chunk)

    def test_chunks_that_are_none_are_refused(self):
        for chunk in (b"x\r\n", b"-1\r\n", b"5\r\nabcdefgh\r\n", b"fffffffffffffffff\r\n"):
            connection = self.open(self.put("Transfer-Encoding: chunked").encode() + chunk)
            self.assertIn(answer_to(connection)[0], (400, 413))

    def test_a_body_with_two_lengths_or_an_unknown_coding_is_refused(self):
        for wrong in (("Content-Length: 3", "Transfer-Encoding: chunked"),
                      ("Content-Length: 3", "Content-Length: 3"),
                      ("Content-Length: 0", "Content-Length: 3"),
                      ("Content-Length: 3", "content-length: 4"),
                      ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
                      ("Content-Length : 3",), ("Content-Length\t: 3",), ("A b: c",)):
            connection = self.open(self.put(*wrong))
            status, headers, _ = answer_to(connection)
            self.assertEqual((status, headers["Connection"]), (400, "close"), wrong)
            self.assertEqual(read_to_end(connection), b"", wrong)
        unknown = self.put("Transfer-Encoding: gzip")
        self.assertEqual(answer_to(self.open(unknown))[0], 501)
        for length in ("-1", "x", "1 2", "99999999999999999999999"):
            status = answer_to(self.open(self.put(f"Content-Length: {length}")))[0]
            self.assertIn(status, (400, 413), length)

    def test_what_is_no_http_ends_its_connection_alone(self):
        other = self.daemon.connect()
        self.addCleanup(other.close)
        self.daemon.request("GET", "/healthz", connection=other)
        long = "x" * 100000
        for text in ("\r\n" * 100 + "nonsense\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                     f"GET /{long} HTTP/1.1\r\n\r\n", f"GET / HTTP/1.1\r\nX: {long}\r\n\r\n",
                     "GET / HTTP/1.1\r\n" + "X: y\r\n" * 20000 + "\r\n",
                     "GET / HTTP/1.1\r\n: no name\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00" * 30 + b"\n\n",
                     b"a" + b"\x00" * 1000 + b"\r\n\r\n", b"\xff" * 40000, "GET / HTTP/1.1\r\nHost: a\r\n no\r\n\r\n"):
            connection = self.daemon.socket()
            self.addCleanup(connection.close)
            try:
                connection.sendall(text.encode() if isinstance(text, str) else text)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has ended the connection already
            data = read_to_end(connection)
            self.assertNotIn(b" 200 ", data[:20])
            self.assertNotIn(b" 500 ", data[:20])
        self.assertEqual(self.daemon.request("GET", "/healthz", connection=other).status, 200)

    def test_requests_one_behind_the_other_are_answered_in_order(self):
        connection = self.open(self.head("GET", "/healthz") + self.head("GET", "/v1/status") +
                               self.head("GET", "/readyz", "Connection: close"))
        data = read_to_end(connection)
        self.assertEqual(data.count(b"HTTP/1.1 200 OK"), 3)
        self.assertLess(data.index(b"ok\n"), data.index(b'"workers"'))
        self.assertLess(data.index(b'"workers"'), data.index(b"ready\n"))

    def test_who_sends_a_byte_at_times_is_cut_off(self):
        cut = self.daemon.metrics()["attncd_connections_cut_total"]
        slow_head = self.open("GET /healthz HTTP/1.1\r\n")
        slow_body = self.open(self.put("Content-Length: 1000"))
        idle = self.open()
        begin = time.monotonic()
        alive = {slow_head, slow_body}
        while alive and time.monotonic() - begin < 8:
            time.sleep(0.2)
            for connection in list(alive):
                try:
                    connection.sendall(b"x")
                except OSError:
                    alive.remove(connection)
        self.assertEqual(alive, set())
        self.assertEqual(read_to_end(idle), b"")
        self.assertLess(time.monotonic() - begin, 7)
        metrics = self.daemon.metrics()
        self.assertEqual(metrics["attncd_upload_bytes"], 0)
        self.assertGreaterEqual(metrics["attncd_connections_cut_total"], cut + 2)

    def test_who_does_not_take_the_answer_is_cut_off(self):
        key, _ = self.daemon.put("unread", value=os.urandom(MEBIBYTE - 1000))
        connection = self.open()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(self.head("GET", f"/v1/program/{key}").encode() * 20)
        begin = time.monotonic()
        while self.daemon.metrics()["attncd_connections"] > 1:
            self.assertLess(time.monotonic() - begin, 7)
            connection.recv(100)
            time.sleep(0.2)

    def test_memory_for_bodies_is_bounded_over_all_connections(self):
        held = [self.open(self.put(f"Content-Length: {MEBIBYTE}", key=i)) for i in range(4)]
        begin = time.monotonic()
        while self.daemon.metrics()["attncd_upload_bytes"] < 4 * MEBIBYTE:
            self.assertLess(time.monotonic() - begin, 5)
        status, headers, body = answer_to(self.open(self.put(f"Content-Length: {MEBIBYTE}")))
        self.assertEqual(status, 503)
        self.assertGreaterEqual(int(headers["Retry-After"]), 1)
        self.assertEqual(json.loads(body)["error"]["kind"], "busy")
        for connection in held:
            connection.close()
        begin = time.monotonic()
        while self.daemon.metrics()["attncd_upload_bytes"] > 0:
            self.assertLess(time.monotonic() - begin, 5)
        self.daemon.put("after them")

    def test_connections_beyond_the_bound_are_told_so(self):
        held = [self.open() for _ in range(20)]
        answer = self.daemon.request("GET", "/v1/specs")
        self.assertEqual((answer.status, answer.error()["kind"]), (503, "busy"))
        self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
        self.assertEqual(self.daemon.request("GET", "/v1/specs", token="unknown").status, 401)
        self.assertEqual(self.daemon.request("GET", "/healthz").status, 200)
        held += [self.open() for _ in range(150)]  # more than are accepted at all
        for connection in held:
            connection.close()
        self.assertEqual(self.daemon.request("GET", "/readyz").status, 200)

    def test_many_at_once_are_all_answered(self):
        key, sealed = self.daemon.put("many")

        def get(_):
            with self.daemon.socket() as connection:
                connection.sendall(self.head("GET", f"/v1/program/{key}",
                                             "Connection: close").encode())
                return answer_to(connection)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for status, _, body in pool.map(get, range(300)):
                self.assertEqual((status, body), (200, sealed))


class Memory(unittest.TestCase):
    def test_entries_in_memory_are_bounded_by_their_size(self):
        with Attncd(ATTNCD, "--memory-size", "100KiB") as daemon:
            entries = dict(daemon.put(i, value=os.urandom(30000)) for i in range(8))
            for _ in range(2):
                for key, sealed in entries.items():
                    self.assertEqual(daemon.request("GET", f"/v1/program/{key}").body, sealed)
            metrics = daemon.metrics()
            self.assertEqual(metrics["attncd_memory_entries"], 3)
            self.assertLessEqual(metrics["attncd_memory_entry_bytes"], 100 * 1024)
            self.assertEqual(metrics['attncd_entries_total{detail="disk",event="hit"}'], 16)


class Configuration(unittest.TestCase):
    def fails(self, code, text, *arguments):
        done = subprocess.run([ATTNCD, *arguments], capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        self.assertGreaterEqual(done.stderr.count("\n"), 2, "a remedy follows: " + done.stderr)

    def test_what_is_missing_or_wrong_is_named_with_a_remedy(self):
        with tempfile.TemporaryDirectory() as folder:
            def file(name, text, mode=0o600):
                path = os.path.join(folder, name)
                with open(path, "w") as out:
                    out.write(text)
                os.chmod(path, mode)
                return path
            key = file("key", "ab" * 32 + "\n")
            tokens = file("tokens", f"ci read sha256:{'0' * 64}\n")
            tcp = ["--listen", "tcp:127.0.0.1:0", "--cache-dir", folder + "/cache"]
            good = [*tcp, "--key-file", key]
            self.fails(2, "--listen", "--key-file", key)
            self.fails(2, "--listen: 'udp:1'", "--listen", "udp:1")
            self.fails(2, "--listen", "--listen", "tcp:127.0.0.1:65536", "--key-file", key)
            self.fails(2, "--key-file", *tcp)
            self.fails(2, "--tokens", *good)
            self.fails(4, "/nowhere", *tcp, "--key-file", "/nowhere", "--tokens", tokens)
            self.fails(2, ":1:", *tcp, "--key-file", file("k", "x\n"), "--tokens", tokens)
            self.fails(2, "t:2:", *good, "--tokens", file("t", "# who\nci read sha256:1\n"))
            self.fails(2, "t has no token", *good, "--tokens", file("t", "# nobody\n"))
            twice = f"ci read sha256:{'0' * 64}\nci write sha256:{'1' * 64}\n"
            self.fails(2, "t:2: ci is there twice", *good, "--tokens", file("t", twice))
            self.fails(4, "may be written", *good, "--tokens", file("w", "", 0o666))
            for option, value in (("--max-upload", "much"), ("--cache-size", "0"),
                                  ("--memory-limit", "-1"), ("--workers", "0"),
                                  ("--time-limit", "x")):
                self.fails(2, option, *good, "--tokens", tokens, option, value)
            self.fails(2, "--tls-key", *good, "--tokens", tokens, "--tls-cert", key)
            self.fails(2, "certificate", *good, "--tokens", tokens, "--tls-cert", key,
                       "--tls-key", key)
            self.fails(4, "cannot be listened at", "--listen", "tcp:192.0.2.1:80", *good[2:],
                       "--tokens", tokens)
            self.fails(2, "'a b' is no name", "token", "a b")
            self.fails(2, "'all' is no scope", "token", "ci", "--scopes", "all")
            self.fails(2, "--nonsense", "--nonsense")


if __name__ == "__main__":
    unittest.main()
