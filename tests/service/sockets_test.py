#!/usr/bin/env python3
"""attncd over TLS and over Unix sockets: sockets_test.py ATTNCD"""
import http.client
import os
import pathlib
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import unittest
import warnings

from attncd import Attncd, UnixConnection

ATTNCD = sys.argv.pop(1)


def certificate(folder, name="localhost"):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    certificate.chmod(0o600)
    return certificate, key


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="attncd-")))


class Tls(WithFolder):
    def test_requests_go_through_tls_and_nothing_goes_without(self):
        with Attncd(ATTNCD, tls=certificate(self.folder)) as daemon:
            key, sealed = daemon.put("over tls", value=os.urandom(300000))
            connection = daemon.connect()
            self.addCleanup(connection.close)
            for _ in range(3):
                answer = daemon.request("GET", f"/v1/program/{key}", connection=connection)
                self.assertEqual(answer.body, sealed)
            self.assertIn(connection.sock.version(), ("TLSv1.2", "TLSv1.3"))
            plain = http.client.HTTPConnection("127.0.0.1", connection.port, timeout=10)
            with self.assertRaises((http.client.HTTPException, OSError)):
                plain.request("GET", "/healthz")
                plain.getresponse()
            plain.close()
            self.assertEqual(daemon.request("GET", "/healthz").status, 200)

    def test_old_versions_of_tls_are_refused(self):
        with Attncd(ATTNCD, tls=certificate(self.folder)) as daemon:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            with warnings.catch_warnings(action="ignore"):
                context.maximum_version = ssl.TLSVersion.TLSv1_1
            with daemon.socket() as plain, self.assertRaises((ssl.SSLError, OSError)):
                context.wrap_socket(plain)

    def test_a_key_of_another_certificate_is_refused(self):
        certificates = certificate(self.folder, "one")[0], certificate(self.folder, "two")[1]
        with self.assertRaises(AssertionError) as failed:
            Attncd(ATTNCD, tls=certificates)
        self.assertIn("certificate or its key cannot be used", str(failed.exception))


class UnixSockets(WithFolder):
    def start(self, **more):
        return Attncd(ATTNCD, unix=True, folder=self.folder, **more)

    def test_who_may_connect_may_do_all_without_tokens(self):
        with self.start(with_tokens=False) as daemon:
            key, sealed = daemon.put("local")
            self.assertEqual(daemon.request("GET", f"/v1/program/{key}").body, sealed)
            line = daemon.event("request", lambda line: line["method"] == "GET")
            self.assertEqual(line["token"], "local")

    def test_its_log_does_not_complain_of_options_of_tcp(self):
        with self.start() as daemon:
            key, sealed = daemon.put("quiet", value=os.urandom(300000))
            connection = daemon.connect()
            for _ in range(3):
                answer = daemon.request("GET", f"/v1/program/{key}", connection=connection)
                self.assertEqual(answer.body, sealed)
            connection.close()
            daemon.terminate()
            self.assertEqual([line for line in daemon.log if line["event"] == "http"], [])

    def test_tokens_are_asked_for_where_there_are_some(self):
        with self.start() as daemon:
            self.assertEqual(daemon.request("GET", "/v1/specs").status, 200)
            self.assertEqual(daemon.request("GET", "/v1/specs", token=None).status, 401)

    def test_its_file_is_for_owner_and_group_and_goes_at_the_end(self):
        path = self.folder / "attncd.sock"
        with self.start():
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o660)
        self.assertFalse(path.exists())

    def test_the_file_of_a_dead_server_is_replaced(self):
        with self.start() as daemon:
            daemon.process.kill()
            daemon.process.wait()
            with self.start() as other:
                self.assertEqual(other.request("GET", "/healthz").status, 200)

    def test_a_server_that_lives_keeps_its_socket(self):
        with self.start() as daemon:
            with self.assertRaises(AssertionError) as failed:
                self.start()
            self.assertIn("a server listens at", str(failed.exception))
            connection = UnixConnection(daemon.address.partition(":")[2])
            connection.request("GET", "/healthz")
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()

    def test_what_is_no_socket_is_not_replaced(self):
        path = self.folder / "attncd.sock"
        path.write_text("something else")
        with self.assertRaises(AssertionError) as failed:
            self.start()
        self.assertIn("is no socket", str(failed.exception))
        self.assertEqual(path.read_text(), "something else")


class Supervisor(WithFolder):
    def test_it_is_told_when_attncd_is_ready_and_when_it_ends(self):
        path = str(self.folder / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.settimeout(10)
            notify.bind(path)
            with Attncd(ATTNCD, environment={"NOTIFY_SOCKET": path}) as daemon:
                self.assertEqual(notify.recv(100), b"READY=1")
                daemon.process.send_signal(signal.SIGINT)
                self.assertEqual(notify.recv(100), b"STOPPING=1")
                self.assertEqual(daemon.process.wait(10), 0)


if __name__ == "__main__":
    unittest.main()
