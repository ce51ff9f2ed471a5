"""A daemon for tests: started on a free port or socket, with a cache, a key and tokens of its own."""
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import secrets
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

TIERS = {"program": 0, "image": 1}


def key_of(number):
    """A key for tests: 64 hexadecimal digits."""
    return hashlib.sha256(f"entry {number}".encode()).hexdigest()


def zstd_frame(value):
    """The value as one frame of zstd, in raw blocks: nothing is compressed."""
    frame = struct.pack("<IBQ", 0xFD2FB528, 0xE0, len(value))  # one segment, its size in 8 bytes
    blocks = [value[i:i + 65536] for i in range(0, len(value), 65536)] or [b""]
    for i, block in enumerate(blocks):
        last = i == len(blocks) - 1
        frame += struct.pack("<I", len(block) << 3 | last)[:3] + block
    return frame


def entry_of(tier, key, value):
    """The file of an entry (runtime/cache/entry.h)."""
    front = b"attncent" + struct.pack("<II", 1, TIERS[tier]) + bytes.fromhex(key)
    front += struct.pack("<Q", len(value))
    frame = zstd_frame(value)
    return front + hashlib.sha256(front + frame).digest() + frame


def seal(fleet_key, entry):
    """A sealed entry (runtime/remote/sealed_entry.h); fleet_key is hexadecimal."""
    front = b"attncrem" + struct.pack("<I", 1)
    return front + hmac.new(bytes.fromhex(fleet_key), front + entry, "sha256").digest() + entry


def value_of(tier, key, sealed):
    """The value of a sealed entry of entry_of: its frame has raw blocks."""
    return sealed[44 + 88:]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def error(self):
        return json.loads(self.body)["error"]


class Attncd:
    """A running daemon; ends with the `with` block. `attncd` is the binary.

    log      its lines, as dictionaries
    tokens   NAME -> the token; `all` has every scope, `reader`, `writer` and `compiler` one each
    address  as --listen takes it, with the port
    """
    SCOPES = {"all": "read,write,compile", "reader": "read", "writer": "write",
              "compiler": "compile"}

    def __init__(self, attncd, *options, unix=False, tls=None, with_tokens=True, environment=None,
                 folder=None):
        self.attncd = attncd
        self.temporary = None if folder else tempfile.TemporaryDirectory(prefix="attncd-")
        self.folder = pathlib.Path(folder or self.temporary.name)
        self.log, self.tokens = [], {}
        self.cache = self.folder / "cache"
        self.key = secrets.token_hex(32)
        self.key_file = self.write("fleet.key", self.key + "\n")
        self.tls = tls
        arguments = ["--key-file", self.key_file, "--cache-dir", self.cache]
        if with_tokens:
            for name in self.SCOPES:
                self.tokens[name] = secrets.token_urlsafe(32)
            arguments += ["--tokens", self.write_tokens(self.tokens)]
        if tls:
            arguments += ["--tls-cert", tls[0], "--tls-key", tls[1]]
        listen = f"unix:{self.folder}/attncd.sock" if unix else "tcp:127.0.0.1:0"
        self.process = subprocess.Popen(
            [attncd, "--listen", listen, *map(str, arguments), *map(str, options)],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            env={**os.environ, **(environment or {})})
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        try:
            self.address = self.event("listening")["address"]
        except AssertionError:
            self.end()
            raise

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def write_tokens(self, tokens, scopes=None):
        """The file of tokens, NAME -> token."""
        scopes = scopes or self.SCOPES
        return self.write("tokens", "# for tests\n" + "".join(
            f"{name} {scopes[name]} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n"
            for name, token in tokens.items()))

    def read_log(self):
        for line in self.process.stderr:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.log.append({"event": "text", "text": line})

    def event(self, name, where=lambda line: True, timeout=20):
        """The first line of the log with this event; waits for it."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for line in list(self.log):
                if line.get("event") == name and where(line):
                    return line
            if self.process.poll() is not None and not self.reader.is_alive():
                break
            time.sleep(0.01)
        raise AssertionError(f"attncd did not log {name}: {self.log}")

    def connect(self, timeout=30):
        kind, _, place = self.address.partition(":")
        if kind == "unix":
            return UnixConnection(place, timeout)
        host, _, port = place.rpartition(":")
        if self.tls:
            context = ssl.create_default_context(cafile=self.tls[0])
            return http.client.HTTPSConnection(host, int(port), timeout=timeout, context=context)
        return http.client.HTTPConnection(host, int(port), timeout=timeout)

    def socket(self, timeout=10):
        """A connection for bytes that no HTTP client would send."""
        kind, _, place = self.address.partition(":")
        assert kind == "tcp"
        return socket.create_connection(("127.0.0.1", int(place.rpartition(":")[2])), timeout)

    def request(self, method, path, body=None, token="all", headers=None, connection=None):
        """One request; `token` is a name of self.tokens, another text as it is, or None."""
        headers = dict(headers or {})
        if token is not None and (self.tokens or token not in self.SCOPES):
            headers["Authorization"] = "Bearer " + self.tokens.get(token, token)
        own = connection is None
        connection = connection or self.connect()
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            if own:
                connection.close()

    def put(self, number, tier="program", value=None, token="all"):
        """Stores an entry for tests; gives its key and its sealed bytes."""
        key = key_of(number)
        sealed = seal(self.key, entry_of(tier, key, value or f"value {number}".encode() * 50))
        answer = self.request("PUT", f"/v1/{tier}/{key}", sealed, token)
        assert answer.status in (201, 204), (answer.status, answer.body)
        return key, sealed

    def metrics(self):
        """Each line of /metrics: 'name{labels}' -> its value."""
        text = self.request("GET", "/metrics").body.decode()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
                for line in text.splitlines() if line and not line.startswith("#")}

    def terminate(self, timeout=60):
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout)
        self.reader.join(timeout)
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if self.process.poll() is None:
                code = self.terminate(30)
                assert code == 0 or kind, (code, self.log[-5:])
        finally:
            self.end()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()
        if self.temporary:
            self.temporary.cleanup()
