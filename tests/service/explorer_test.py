#!/usr/bin/env python3
"""The explorer of attncd, and who may use it: explorer_test.py ATTNCD"""
import json
import sys
import unittest

from attncd import Attncd

ATTNCD = sys.argv.pop(1)
SPEC = json.dumps({"attnc": 1, "inputs": {"x": "f32[i]"}, "body": ["o = 2 * x"],
                   "outputs": {"o": "f32"}, "reference": {"shape": {"i": 5}}})


class Explorer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Attncd(ATTNCD, "--explorer", "--workers", "1"))

    def run_command(self, command, token="compiler", **more):
        body = json.dumps({"spec": SPEC, "target": "cpu", **more})
        return self.daemon.request("POST", f"/v1/explorer/{command}", body, token)

    def test_the_page_is_open_and_has_its_policy(self):
        for path, kind in (("/", "text/html"), ("/explorer.css", "text/css"),
                           ("/explorer.js", "text/javascript")):
            answer = self.daemon.request("GET", path, token=None)
            self.assertEqual(answer.status, 200, path)
            self.assertTrue(answer.headers["Content-Type"].startswith(kind))
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])

    def test_all_else_needs_a_token(self):
        self.assertEqual(self.daemon.request("GET", "/v1/explorer", token=None).status, 401)
        about = json.loads(self.daemon.request("GET", "/v1/explorer", token="reader").body)
        self.assertIn("cpu", about["targets"])
        self.assertIn("causal", [spec["name"] for spec in about["specs"]])
        self.assertEqual(self.run_command("check", token=None).status, 401)
        self.assertEqual(self.run_command("check", token="reader").status, 403)

    def test_a_command_is_answered(self):
        answer = self.run_command("check")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(json.loads(answer.body)["checks"][0]["verdict"], "ok")
        text = json.loads(self.run_command("compile", emit="attn").body)["texts"][0]
        self.assertEqual(len(text["text"].splitlines()), len(text["lines"]))

    def test_what_is_wrong_is_said(self):
        wrong = self.run_command("check", emit="attn")
        self.assertEqual(wrong.status, 400)
        self.assertIn("emit", wrong.error()["message"])
        self.assertEqual(self.run_command("cache").status, 400)
        self.assertEqual(self.daemon.request("GET", "/v1/explorer/check").status, 405)
        # A body that is refused is not read: the client may not get rid of it.
        with self.daemon.socket() as connection:
            connection.sendall(b"POST /v1/explorer/check HTTP/1.1\r\nHost: localhost\r\n"
                               b"Authorization: Bearer " + self.daemon.tokens["compiler"].encode() +
                               b"\r\nContent-Length: 3145728\r\n\r\n")
            self.assertTrue(connection.recv(64).startswith(b"HTTP/1.1 413 "))

    def test_metrics_count_its_places(self):
        self.run_command("check")
        counted = [name for name in self.daemon.metrics() if 'route="command"' in name]
        self.assertTrue(counted, self.daemon.metrics().keys())


class Without(unittest.TestCase):
    def test_there_is_no_explorer_unless_it_is_asked_for(self):
        with Attncd(ATTNCD) as daemon:
            for method, path in (("GET", "/"), ("GET", "/v1/explorer"),
                                 ("POST", "/v1/explorer/check")):
                body = "{}" if method == "POST" else None
                self.assertEqual(daemon.request(method, path, body).status, 404, path)
                stranger = daemon.request(method, path, body, token=None)
                self.assertEqual(stranger.status, 401, path)


if __name__ == "__main__":
    unittest.main()
