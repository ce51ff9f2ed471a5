#!/usr/bin/env python3
"""What attncd answers to each request of its table, and to whom: http_test.py ATTNCD"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from attncd import Attncd, entry_of, key_of, seal

ATTNCD = sys.argv.pop(1)


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Attncd(ATTNCD))

    def answers(self, status, method, path, body=None, token="all", kind=None, **more):
        answer = self.daemon.request(method, path, body, token, **more)
        self.assertEqual(answer.status, status, answer.body)
        if kind:
            self.assertEqual(answer.headers["Content-Type"], "application/json")
            self.assertEqual(answer.error()["kind"], kind)
            self.assertTrue(answer.error()["message"])
        return answer

    def sealed(self, number, tier="program", key=None, fleet=None):
        return seal(fleet or self.daemon.key, entry_of(tier, key or key_of(number), b"value" * 9))

    def test_an_entry_that_was_put_is_there_for_get_and_head(self):
        path = f"/v1/program/{key_of('put')}"
        self.answers(404, "GET", path, kind="not_found")
        self.answers(404, "HEAD", path)
        self.answers(201, "PUT", path, self.sealed("put"), token="writer")
        self.answers(204, "PUT", path, self.sealed("put"), token="writer")
        for _ in range(2):  # from disk, then from memory
            got = self.answers(200, "GET", path, token="reader")
            self.assertEqual(got.body, self.sealed("put"))
            self.assertEqual(got.headers["Content-Type"], "application/octet-stream")
            head = self.answers(200, "HEAD", path, token="reader")
            self.assertEqual(head.body, b"")
            self.assertEqual(head.headers["Content-Length"], str(len(got.body)))
        self.answers(404, "GET", path.replace("program", "image"), kind="not_found")

    def test_without_a_known_token_everything_looks_the_same(self):
        key, _ = self.daemon.put("existing")
        requests = [("GET", f"/v1/program/{key}"), ("GET", f"/v1/program/{key_of('missing')}"),
                    ("HEAD", "/v1/program/x"), ("PUT", f"/v1/image/{key}"), ("GET", "/nowhere"),
                    ("POST", "/v1/compile"), ("DELETE", "/v1/specs"), ("BREW", "/"),
                    ("GET", "/metrics"), ("GET", "/v1/status"), ("POST", "/healthz")]
        seen = set()
        for method, path in requests:
            for token in (None, "no such token", self.daemon.tokens["all"] + "x",
                          self.daemon.tokens["all"][:-1]):
                body = b"x" * 100 if method in ("PUT", "POST") else None
                answer = self.answers(401, method, path, body, token)
                headers = {name: value for name, value in answer.headers.items() if name != "Date"}
                self.assertEqual(headers["WWW-Authenticate"], "Bearer")
                if method != "HEAD":
                    seen.add((json.dumps(headers), answer.body))
        self.assertEqual(len(seen), 1)
        self.assertEqual(json.loads(seen.pop()[1])["error"]["kind"], "unauthorized")

    def test_other_kinds_of_authorization_are_no_token(self):
        token = self.daemon.tokens["all"]
        for text in (token, "Basic " + token, "Bearer", "Bearer ", "Bearer\t" + token,
                     "Bearer " + token + " x", "BearerX " + token):
            self.answers(401, "GET", "/v1/specs", token=None, headers={"Authorization": text})
        self.answers(200, "GET", "/v1/specs", token=None,
                     headers={"Authorization": "bearer  " + token})

    def test_a_token_without_the_scope_learns_nothing(self):
        key, _ = self.daemon.put("scoped")
        for number in ("scoped", "missing"):
            path = f"/v1/program/{key_of(number)}"
            for token in ("writer", "compiler"):
                self.answers(403, "GET", path, token=token, kind="forbidden")
                self.answers(403, "HEAD", path, token=token)
            for token in ("reader", "compiler"):
                self.answers(403, "PUT", path, self.sealed(number), token, kind="forbidden")
        for token in ("reader", "writer"):
            self.answers(403, "POST", "/v1/compile", "{}", token, kind="forbidden")
        for path in ("/metrics", "/v1/specs", "/v1/status"):
            self.answers(403, "GET", path, token="compiler", kind="forbidden")
            self.answers(200, "GET", path, token="reader")

    def test_probes_need_no_token(self):
        self.assertEqual(self.answers(200, "GET", "/healthz", token=None).body, b"ok\n")
        self.assertEqual(self.answers(200, "GET", "/readyz", token=None).body, b"ready\n")

    def test_a_path_that_is_not_there_and_a_method_that_it_does_not_have(self):
        for path in ("/", "/v1", "/v1/", "/v1/kernel/" + key_of(1), "/v1/program", "//healthz",
                     f"/v1/program/{key_of(1)}/", "/v1/compile/x", "/v1/program/%2e%2e%2fimage"):
            self.answers(404, "GET", path, kind="not_found")
        for method, path, allowed in (("DELETE", f"/v1/image/{key_of(1)}", "GET, HEAD, PUT"),
                                      ("GET", "/v1/compile", "POST"),
                                      ("PUT", "/v1/specs", "GET, HEAD"),
                                      ("POST", "/metrics", "GET, HEAD")):
            answer = self.answers(405, method, path, kind="invalid_argument")
            self.assertEqual(answer.headers["Allow"], allowed)

    def test_a_key_has_64_lower_case_digits(self):
        for key in ("", "x", key_of(1)[1:], key_of(1).upper(), key_of(1) + "0", "..",
                    "0" * 63 + "%00"):
            self.answers(400, "GET", "/v1/program/" + key, kind="invalid_argument")

    def test_what_the_fleet_has_not_sealed_is_not_taken(self):
        path = f"/v1/program/{key_of('forged')}"
        good = self.sealed("forged")
        forged = [self.sealed("forged", fleet="ab" * 32), good[:-1], good + b"x",
                  good[:50] + bytes([good[50] ^ 1]) + good[51:],
                  good[:20] + bytes([good[20] ^ 1]) + good[21:]]
        for body in forged:
            self.answers(403, "PUT", path, body, kind="forbidden")
        no_entry = [b"", b"x", good[:43], good[44:], b"attncrem", seal(self.daemon.key, b""),
                    seal(self.daemon.key, b"attncent and then nothing"),
                    seal(self.daemon.key, good[44:-1])]
        for body in no_entry:
            self.answers(400, "PUT", path, body, kind="invalid_argument")
        self.answers(404, "GET", path, kind="not_found")

    def test_an_entry_does_not_pass_for_another(self):
        replayed = self.sealed("original")
        self.answers(403, "PUT", f"/v1/program/{key_of('other')}", replayed, kind="forbidden")
        self.answers(403, "PUT", f"/v1/image/{key_of('original')}", replayed, kind="forbidden")
        self.answers(404, "GET", f"/v1/program/{key_of('other')}", kind="not_found")

    def test_a_damaged_file_is_not_served(self):
        key, sealed = self.daemon.put("damaged", "image")
        file = self.daemon.cache / "image" / key
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
        self.answers(404, "GET", f"/v1/image/{key}", kind="not_found")
        self.assertFalse(file.exists())
        self.answers(201, "PUT", f"/v1/image/{key}", sealed)

    def test_the_library_is_listed(self):
        specs = json.loads(self.answers(200, "GET", "/v1/specs").body)["specs"]
        self.assertIn("causal", [spec["name"] for spec in specs])
        self.assertTrue(all(spec["doc"] for spec in specs))

    def test_the_status_says_what_there_is(self):
        self.daemon.put("counted", "image")
        status = json.loads(self.answers(200, "GET", "/v1/status").body)
        self.assertGreaterEqual(status["entries"]["image"]["entries"], 1)
        self.assertGreater(status["entries"]["image"]["bytes"], 0)
        self.assertGreaterEqual(status["workers"]["alive"], 1)
        for name in ("build", "version", "nvrtc", "queue"):
            self.assertIn(name, status)

    def test_requests_and_entries_are_counted(self):
        before = self.daemon.metrics()
        key, _ = self.daemon.put("metric")
        for _ in range(3):
            self.daemon.request("GET", f"/v1/program/{key}")
        self.daemon.request("GET", f"/v1/program/{key_of('never')}", token="no such")
        after = self.daemon.metrics()

        def grew(name):
            return after[name] - before.get(name, 0)
        self.assertEqual(
            grew('attncd_requests_total{method="GET",route="program",status="200"}'), 3)
        self.assertEqual(grew('attncd_entries_total{detail="memory",event="hit"}'), 2)
        self.assertEqual(grew('attncd_entries_total{detail="disk",event="hit"}'), 1)
        self.assertEqual(grew('attncd_entries_total{detail="stored",event="put"}'), 1)
        self.assertEqual(grew('attncd_request_seconds_count{route="program"}'), 5)
        self.assertGreater(after["process_resident_memory_bytes"], 1e6)

    def test_nothing_that_clients_send_becomes_a_metric(self):
        names = set(self.daemon.metrics())
        for i in range(20):
            self.daemon.request(f"METHOD{i}", f"/path/{i}", headers={"Attnc-Build": str(i)})
            self.daemon.request("GET", "/v1/program/" + key_of(f"label {i}"))
        new = set(self.daemon.metrics()) - names
        self.assertLessEqual(len(new), 3, new)

    def test_the_log_has_a_line_for_each_request_and_no_secret(self):
        path = f"/v1/program/{key_of('logged')}?secret=query"
        self.daemon.request("GET", path, token="reader")
        line = self.daemon.event("request", lambda line: key_of("logged") in line["path"])
        self.assertEqual((line["token"], line["method"], line["status"]), ("reader", "GET", 404))
        self.assertEqual(line["path"], f"/v1/program/{key_of('logged')}")
        for name in ("time", "level", "id", "bytes", "seconds"):
            self.assertIn(name, line)
        text = json.dumps(self.daemon.log)
        for secret in [*self.daemon.tokens.values(), self.daemon.key, "secret=query"]:
            self.assertNotIn(secret, text)

    def test_a_connection_stays_open_for_further_requests(self):
        connection = self.daemon.connect()
        self.addCleanup(connection.close)
        for method, path in (("GET", "/healthz"), ("GET", "/v1/specs"), ("GET", "/v1/status"),
                             ("HEAD", "/v1/specs"), ("GET", "/nowhere")):
            answer = self.daemon.request(method, path, connection=connection)
            self.assertNotIn("Connection", answer.headers, path)

    def test_a_spec_that_is_wrong_is_shown_where(self):
        body = json.dumps({"name": "mine.json", "text": "{", "target": "sm_90a"})
        error = self.answers(422, "POST", "/v1/compile", body, "compiler", "spec").error()
        self.assertIn("mine.json:1", error["message"])

    def test_a_spec_becomes_an_entry_that_others_get(self):
        if json.loads(self.daemon.request("GET", "/v1/status").body)["nvrtc"] is None:
            self.skipTest("there is no NVRTC")
        body = json.dumps({"spec": "full", "target": "sm_80"})
        answer = self.answers(200, "POST", "/v1/compile", body, "compiler",
                              headers={"Accept": "application/vnd.attnc.entry"})
        self.assertEqual(answer.headers["Attnc-Tier"], "program")
        key = answer.headers["Attnc-Key"]
        self.assertEqual(self.answers(200, "GET", f"/v1/program/{key}").body, answer.body)
        self.assertTrue(answer.body.startswith(b"attncrem"))
        program = self.answers(200, "POST", "/v1/compile", body)
        self.assertEqual(program.headers["Attnc-From"], "disk")
        self.assertEqual(program.headers["Attnc-Key"], key)
        self.assertFalse(program.body.startswith(b"attncrem"))

    def test_what_is_no_request_to_compile_is_refused(self):
        for body in ("", "{", "[]", '{"spec": 1}', '{"unknown": 1}'):
            self.answers(400, "POST", "/v1/compile", body, kind="invalid_argument")


class Start(unittest.TestCase):
    def test_a_remote_tier_that_is_wrong_ends_it(self):
        for wrong in ({"ATTNC_REMOTE": "ftp://stores"},
                      {"ATTNC_REMOTE": "http://127.0.0.1:1", "ATTNC_REMOTE_KEY_FILE": ""}):
            with self.assertRaises(AssertionError) as failed:
                Attncd(ATTNCD, environment=wrong)
            self.assertIn("ATTNC_REMOTE", str(failed.exception))

    def test_its_log_says_which_addresses_of_its_remote_tier_work(self):
        with Attncd(ATTNCD) as other:
            address = "http://" + other.address.partition(":")[2]
            environment = {"ATTNC_REMOTE": f"{address} unix:/none",
                           "ATTNC_REMOTE_KEY_FILE": str(other.key_file),
                           "ATTNC_REMOTE_TOKEN_FILE": str(other.write("token",
                                                                      other.tokens["all"]))}
            with Attncd(ATTNCD, environment=environment) as daemon:
                said = [line for line in daemon.log if line["event"] == "remote"]
        self.assertEqual([(line["address"], line["works"]) for line in said],
                         [(address, True), ("unix:/none", False)])
        self.assertTrue(said[0]["text"] and said[1]["why"])

    def test_entries_are_not_in_the_cache_of_the_user_unless_that_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder, "key")
            key.write_text("1" * 64)
            key.chmod(0o600)
            environment = {**os.environ, "XDG_CACHE_HOME": folder, "ATTNC_CACHE_DIR": "/none"}
            daemon = subprocess.Popen(
                [ATTNCD, "--listen", f"unix:{folder}/socket", "--key-file", key, "--workers", "1"],
                stderr=subprocess.PIPE, text=True, env=environment)
            with daemon:
                listening = json.loads(daemon.stderr.readline())
                daemon.terminate()
            self.assertEqual(listening["cache"], f"{folder}/attncd")


class Tokens(unittest.TestCase):
    def test_sighup_reads_the_tokens_anew_and_keeps_them_where_the_file_is_wrong(self):
        with Attncd(ATTNCD) as daemon:
            connection = daemon.connect()
            self.addCleanup(connection.close)
            self.assertEqual(daemon.request("GET", "/v1/specs", connection=connection).status, 200)
            old = daemon.tokens
            daemon.tokens = {"reader": "a new token"}
            daemon.write_tokens(daemon.tokens)
            daemon.process.send_signal(signal.SIGHUP)
            self.assertEqual(daemon.event("tokens")["count"], 1)
            self.assertEqual(daemon.request("GET", "/v1/specs", token="reader",
                                            connection=connection).status, 200)
            self.assertEqual(daemon.request("GET", "/v1/specs", token=old["all"]).status, 401)
            daemon.write("tokens", "this is no token\n")
            daemon.process.send_signal(signal.SIGHUP)
            self.assertIn(":1:", daemon.event("tokens", lambda line: "why" in line)["why"])
            self.assertEqual(daemon.request("GET", "/v1/specs", token="reader").status, 200)

    def test_the_token_command_prints_a_line_that_the_file_takes(self):
        made = subprocess.run([ATTNCD, "token", "ci", "--scopes", "read,compile"],
                              capture_output=True, text=True, check=True).stdout.split()
        token, line = made[1], " ".join(made[3:])
        self.assertTrue(line.startswith("ci read,compile sha256:"), line)
        self.assertGreaterEqual(len(token), 43)
        with Attncd(ATTNCD) as daemon:
            daemon.write("tokens", line + "\n")
            daemon.process.send_signal(signal.SIGHUP)
            daemon.event("tokens")
            self.assertEqual(daemon.request("GET", "/v1/specs", token=token).status, 200)


if __name__ == "__main__":
    unittest.main()
