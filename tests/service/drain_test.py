#!/usr/bin/env python3
"""SIGTERM loses no request that was accepted: drain_test.py ATTNCD"""
import http.client
import json
import signal
import sys
import threading
import time
import unittest

from attncd import Attncd, entry_of, key_of, seal

ATTNCD = sys.argv.pop(1)


class Client(threading.Thread):
    """Asks for one entry again and again, until the server says that it closes the connection, and
    then until nobody listens any more. An answer that does not come is in `lost`."""

    def __init__(self, daemon, path, expected):
        super().__init__()
        self.daemon_, self.path, self.expected = daemon, path, expected
        self.answered, self.lost = 0, []

    def run(self):
        while True:
            connection = self.daemon_.connect()
            try:
                connection.connect()
            except ConnectionError:
                return  # nobody listens
            try:
                while self.ask(connection):
                    pass
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                return
            finally:
                connection.close()

    def ask(self, connection):
        answer = self.daemon_.request("GET", self.path, connection=connection)
        if (answer.status, answer.body) != (200, self.expected):
            self.lost.append((answer.status, answer.body))
        self.answered += 1
        return answer.headers["Connection"] != "close"


class Drain(unittest.TestCase):
    def test_every_request_under_load_is_answered(self):
        with Attncd(ATTNCD) as daemon:
            key, sealed = daemon.put("load")
            clients = [Client(daemon, f"/v1/program/{key}", sealed) for _ in range(16)]
            for client in clients:
                client.start()
            while min(client.answered for client in clients) == 0 and \
                    any(client.is_alive() for client in clients):
                time.sleep(0.01)
            self.assertEqual(daemon.terminate(), 0)
            for client in clients:
                client.join()
            self.assertEqual([client.lost for client in clients if client.lost], [])
            self.assertGreater(min(client.answered for client in clients), 0)
            self.assertEqual(daemon.log[-1]["event"], "ended")

    def test_a_body_that_is_on_its_way_is_taken(self):
        with Attncd(ATTNCD) as daemon:
            sealed = seal(daemon.key, entry_of("image", key_of("half"), b"v" * 1000))
            connection = daemon.socket()
            self.addCleanup(connection.close)
            head = (f"PUT /v1/image/{key_of('half')} HTTP/1.1\r\nHost: attncd\r\n"
                    f"Authorization: Bearer {daemon.tokens['all']}\r\n"
                    f"Content-Length: {len(sealed)}\r\n\r\n").encode()
            connection.sendall(head + sealed[:500])
            while daemon.metrics()["attncd_uploads_in_flight"] < 1:
                time.sleep(0.01)
            daemon.process.send_signal(signal.SIGTERM)
            daemon.event("draining")
            time.sleep(0.7)  # longer than a quiet connection is kept
            connection.sendall(sealed[500:])
            response = http.client.HTTPResponse(connection)
            response.begin()
            self.assertEqual((response.status, response.headers["Connection"]), (201, "close"))
            self.assertEqual(daemon.process.wait(20), 0)
            self.assertTrue((daemon.cache / "image" / key_of("half")).exists())

    def test_compilations_that_run_and_wait_are_answered(self):
        with Attncd(ATTNCD, "--workers", "1") as daemon:
            before = daemon.metrics()["attncd_request_seconds_count{route=\"compile\"}"]
            answers = []

            def compile_spec(name):
                body = json.dumps({"spec": name, "target": "sm_80"})
                connection = daemon.connect(timeout=300)
                answers.append(daemon.request("POST", "/v1/compile", body, "compiler",
                                              connection=connection))
                connection.close()
            clients = [threading.Thread(target=compile_spec, args=(name,))
                       for name in ("full", "causal")]
            for client in clients:
                client.start()
            # Each of them is being answered, or was.
            while (metrics := daemon.metrics())["attncd_requests_in_flight"] - 1 + \
                    metrics["attncd_request_seconds_count{route=\"compile\"}"] - before < 2:
                time.sleep(0.01)
            daemon.process.send_signal(signal.SIGTERM)
            for client in clients:
                client.join()
            self.assertEqual(daemon.process.wait(120), 0)
            statuses = {answer.status for answer in answers}
            self.assertEqual(len(answers), 2)
            self.assertIn(statuses, ({200}, {500}), [a.body[:200] for a in answers])  # no NVRTC

    def test_connections_that_are_open_learn_that_it_ends_and_new_ones_find_nobody(self):
        with Attncd(ATTNCD) as daemon:
            held = daemon.socket()
            self.addCleanup(held.close)
            held.sendall(b"PUT /v1/program/x HTTP/1.1\r\n")  # keeps it from ending at once
            connection = daemon.connect()
            self.addCleanup(connection.close)
            daemon.request("GET", "/healthz", connection=connection)
            daemon.process.send_signal(signal.SIGTERM)
            daemon.event("draining")
            ready = daemon.request("GET", "/readyz", connection=connection)
            self.assertEqual((ready.status, ready.error()["kind"]), (503, "draining"))
            self.assertGreaterEqual(int(ready.headers["Retry-After"]), 1)
            self.assertEqual(ready.headers["Connection"], "close")
            with self.assertRaises(ConnectionRefusedError):
                daemon.socket()

    def test_it_ends_in_time_whatever_its_clients_do(self):
        with Attncd(ATTNCD, "--drain-seconds", "1") as daemon:
            idle, slow = daemon.socket(), daemon.socket()
            self.addCleanup(idle.close)
            self.addCleanup(slow.close)
            slow.sendall(f"PUT /v1/image/{key_of(1)} HTTP/1.1\r\nContent-Length: 1000\r\n"
                         f"Authorization: Bearer {daemon.tokens['all']}\r\n\r\nx".encode())
            while daemon.metrics()["attncd_uploads_in_flight"] < 1:
                time.sleep(0.01)
            begin = time.monotonic()
            self.assertEqual(daemon.terminate(), 0)
            self.assertLess(time.monotonic() - begin, 5)

    def test_a_second_signal_ends_it_at_once(self):
        with Attncd(ATTNCD) as daemon:
            slow = daemon.socket()
            self.addCleanup(slow.close)
            slow.sendall(f"PUT /v1/image/{key_of(1)} HTTP/1.1\r\nContent-Length: 1000\r\n"
                         f"Authorization: Bearer {daemon.tokens['all']}\r\n\r\nx".encode())
            while daemon.metrics()["attncd_uploads_in_flight"] < 1:
                time.sleep(0.01)
            daemon.process.send_signal(signal.SIGTERM)
            daemon.event("draining")
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.process.wait(10), 0)


if __name__ == "__main__":
    unittest.main()
