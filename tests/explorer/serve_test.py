"""attnc serve over real sockets: who is answered, and what a client may not do.

usage: serve_test.py ATTNC
"""
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest

ATTNC = sys.argv.pop(1)
SPEC = json.dumps({"attnc": 1, "inputs": {"x": "f32[i]"}, "body": ["o = 2 * x"],
                   "outputs": {"o": "f32"}, "reference": {"shape": {"i": 5}}})
LONG = {"spec": subprocess.run([ATTNC, "show", "causal"], capture_output=True, text=True,
                               check=True).stdout,
        "target": "sm_90a", "shape": {"i": 5000, "j": 5000}, "interpret": True}


def running(server):
    """The commands that a server has started and not ended."""
    children = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == server.pid and fields[0] != "Z":
            children.append(entry.name)
    return children


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([ATTNC, "serve", "--port", "0", "--seconds", "100"],
                                      stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.server.stdout.close)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.terminate)
        url = cls.server.stdout.readline().strip()
        cls.authority = url.removeprefix("http://").rstrip("/")
        cls.port = int(cls.authority.rpartition(":")[2])

    def request(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read(), response.headers

    def command(self, name, body, **headers):
        return self.request("POST", f"/v1/explorer/{name}", json.dumps(body),
                            **{"Content_Type": "application/json", **headers})

    def sent(self, body):
        """A connection on which a command was asked for."""
        text = json.dumps(body).encode()
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.sendall(f"POST /v1/explorer/run HTTP/1.1\r\nHost: {self.authority}\r\n"
                           "Content-Type: application/json\r\n"
                           f"Content-Length: {len(text)}\r\n\r\n".encode() + text)
        return connection

    def wait(self, condition):
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_the_page_and_its_policy(self):
        status, body, headers = self.request("GET", "/")
        self.assertEqual(status, 200)
        self.assertIn(b"<title>", body)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        about = json.loads(self.request("GET", "/v1/explorer")[1])
        self.assertIn("sm_90a", about["targets"])

    def test_a_command_is_answered(self):
        status, body, _ = self.command("check", {"spec": SPEC, "target": "cpu"})
        self.assertEqual((status, json.loads(body)["checks"][0]["verdict"]), (200, "ok"))

    def test_every_kernel_has_its_lines(self):
        if not json.loads(self.request("GET", "/v1/explorer")[1])["nvrtc"]:
            self.skipTest("PTX needs NVRTC")
        asked = {"spec": SPEC, "target": "sm_80", "grad": "x"}
        cuda, ptx = (json.loads(self.command("compile", {**asked, "emit": emit})[1])["texts"]
                     for emit in ("cuda", "ptx"))
        self.assertEqual([t["name"] for t in ptx], [t["name"] for t in cuda])
        self.assertGreater(len(ptx), 1)  # those of the backward program, too
        for text in [*cuda, *ptx]:
            self.assertEqual(len(text["lines"]), text["text"].count("\n"))

    def test_pages_of_others_are_refused(self):
        check = {"spec": SPEC, "target": "cpu"}
        for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{self.port}"},
                        {"Origin": "http://evil.example"}, {"Origin": "null"}):
            self.assertEqual(self.command("check", check, **headers)[0], 403, headers)
        self.assertEqual(self.request("GET", "/", Host="evil.example")[0], 403)
        self.assertEqual(self.command("check", check, Content_Type="text/plain")[0], 415)
        own = {"Origin": f"http://{self.authority}"}
        self.assertEqual(self.command("check", check, **own)[0], 200)

    def test_what_is_wrong_is_said(self):
        for status, method, path in ((404, "GET", "/../etc/passwd"), (404, "GET", "/nowhere"),
                                     (405, "GET", "/v1/explorer/check"), (405, "POST", "/")):
            self.assertEqual(self.request(method, path)[0], status, path)
        status, body, _ = self.command("compile", {"spec": SPEC, "out": "/tmp/x"})
        self.assertEqual(status, 400)
        self.assertIn("out", json.loads(body)["error"]["message"])
        self.assertEqual(self.command("cache", {"spec": SPEC})[0], 400)
        deep = '{"spec": "", "schedule": {"a": ' + "[" * 100000 + "]" * 100000 + "}}"
        status, body, _ = self.request("POST", "/v1/explorer/check", deep,
                                       Content_Type="application/json")
        self.assertEqual(status, 400)
        self.assertIn("nested", json.loads(body)["error"]["message"])

    def test_a_body_that_is_too_long_is_refused(self):
        status, body, _ = self.command("check", {"spec": " " * (3 << 20)})
        self.assertEqual(status, 413)
        self.assertIn("bytes", json.loads(body)["error"]["message"])

    def test_a_body_that_is_much_too_long_is_not_read(self):
        with socket.create_connection(("127.0.0.1", self.port), 60) as connection:
            connection.sendall(f"POST /v1/explorer/check HTTP/1.1\r\nHost: {self.authority}\r\n"
                               "Content-Type: application/json\r\n"
                               f"Content-Length: {5 << 20}\r\n\r\n".encode())
            self.assertTrue(connection.recv(64).startswith(b"HTTP/1.1 413 "))

    def test_a_client_that_goes_ends_its_command(self):
        connection = self.sent(LONG)
        self.wait(lambda: len(running(self.server)) == 1)
        connection.close()
        self.wait(lambda: not running(self.server))
        self.assertEqual(self.request("GET", "/")[0], 200)

    def test_more_than_one_request_on_a_connection_is_no_harm(self):
        connection = self.sent({"spec": SPEC, "target": "cpu"})
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {self.authority}\r\n\r\n".encode())
        connection.settimeout(60)
        received = b""
        while b"<title>" not in received:
            part = connection.recv(65536)
            self.assertTrue(part, received[-200:])
            received += part
        self.assertEqual(received.count(b"HTTP/1.1 200"), 2)

    def test_too_many_commands_are_refused(self):
        held = [self.sent(LONG) for _ in range(8)]
        self.wait(lambda: len(running(self.server)) == 8)
        self.assertEqual(self.command("check", {"spec": SPEC})[0], 429)
        for connection in held:
            connection.close()
        self.wait(lambda: not running(self.server))

    def test_it_ends_with_its_commands(self):
        server = subprocess.Popen([ATTNC, "serve", "--port", "0"], stdout=subprocess.PIPE,
                                  text=True)
        url = server.stdout.readline()
        port = int(url.strip().rstrip("/").rpartition(":")[2])
        self.authority, self.port, before = f"127.0.0.1:{port}", port, (self.authority, self.port)
        connection = self.sent(LONG)
        self.wait(lambda: running(server))
        children = running(server)
        server.terminate()
        self.assertEqual(server.wait(30), 0)
        server.stdout.close()
        for child in children:
            self.assertFalse(os.path.exists(f"/proc/{child}"))
        connection.close()
        self.authority, self.port = before


class Addresses(unittest.TestCase):
    def test_only_loopback(self):
        done = subprocess.run([ATTNC, "serve", "--host", "0.0.0.0"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("attncd", done.stderr)

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = subprocess.run([ATTNC, "serve", "--port", str(port)], capture_output=True,
                                  text=True)
        self.assertEqual(done.returncode, 4)
        self.assertIn("--port", done.stderr)


if __name__ == "__main__":
    unittest.main()
