"""Requests that no client would send: right ones, broken in many ways."""

LENGTHS = [b"0", b"1", b"-1", b"+5", b"0x10", b"5, 5", b"99999999999", b"18446744073709551615",
           b"18446744073709551616", b"9" * 400, b"", b" ", b"5 5", b"5;5", b"\xff"]
CODINGS = [b"chunked", b"gzip", b"identity", b"chunked, chunked", b"CHUNKED", b"xchunked", b"",
           b"gzip, chunked", b" chunked", b"chunked\x0b"]
CHUNK_SIZES = [b"0", b"-1", b"ffffffffffffffff", b"10000000000000000", b"7fffffff", b"g", b"",
               b"5;extension=" + b"x" * 5000, b"0x5", b" 5", b"00000000000000000005"]
PATHS = [b"/", b"//", b"/v1", b"/v1/", b"/v1/program", b"/v1/program/", b"/v1/program/../image/",
         b"/v1/../../../../etc/passwd", b"/v1/program/%2e%2e%2f%2e%2e%2f",
         b"/v1/program/" + b"g" * 64,
         b"/v1/program/" + b"A" * 64, b"/v1/program/" + b"0" * 63, b"/v1/program/" + b"0" * 65,
         b"/v1/specs/", b"/v1/specs?x=y", b"*", b"http://other/v1/specs", b"/v1/specs#x",
         b"/v1/program/" + b"%30" * 64, b"/v1/%00specs", b"/%", b"/%zz", b"/" + b"a" * 40000, b""]
METHODS = [b"GET", b"HEAD", b"PUT", b"POST", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"PATCH",
           b"get", b"G", b"", b"GET\x00", b"A" * 10000, b"PRI", b"\x16\x03\x01"]
VERSIONS = [b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/9.9", b"HTTP/1.1.1",
            b"http/1.1", b"HTTP/11", b"", b"HTTP/1.1 x"]
TEXTS = [b"{}", b"[]", b"", b"null", b"\xff\xfe", b'{"spec": "causal"}',
         b'{"spec": 5, "target": []}',
         b'{"spec": "causal", "target": "cpu"}', b'{"spec": "../causal", "target": "sm_80"}',
         b'{"text": "{", "target": "sm_80"}', b'{"spec": "causal", "target": "sm_80", "more": 1}',
         b'{"spec": "causal", "target": "sm_80", "set": {"d": {}}}',
         b'{"spec": "causal", "target": "sm_80", "tuned": [1]}', b"[" * 100000, b'{"a":' * 20000,
         b'{"spec": "causal", "target": "sm_80", "memory_budget": -1}',
         b'{"spec": "causal", "target": "sm_80", "memory_budget": 1e400}',
         b'{"text": "\\ud800", "target": "sm_80"}', b'{"spec": "causal", "target": "sm_9999"}']


class Requests:
    """Draws requests. `random` decides all of them; `tokens` and `bodies` (path, sealed entry) are
    what a right request has."""

    def __init__(self, random, tokens, bodies):
        self.random, self.tokens, self.bodies = random, tokens, bodies

    def draw(self):
        """The bytes of one or more requests on one connection."""
        count = self.random.choice((1, 1, 1, 1, 2, 3, 8))
        data = b"".join(self.one() for _ in range(count))
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2, 5))):
            data = self.damaged(data)
        return data

    def one(self):
        random = self.random
        path, sealed = random.choice(self.bodies)
        method, body = random.choice((
            (b"GET", None), (b"HEAD", None), (b"PUT", sealed), (b"PUT", self.damaged(sealed)),
            (b"PUT", random.choice(TEXTS)), (b"POST", random.choice(TEXTS)),
            (b"POST", self.damaged(random.choice(TEXTS)))))
        if method == b"POST":
            path = b"/v1/compile"
        elif random.random() < 0.2:
            path = random.choice((b"/v1/specs", b"/v1/status", b"/metrics", b"/healthz",
                                  b"/readyz"))
        if random.random() < 0.1:
            path = random.choice(PATHS)
        if random.random() < 0.1:
            method = random.choice(METHODS)
        version = random.choice(VERSIONS) if random.random() < 0.1 else b"HTTP/1.1"
        headers = [(b"Host", b"attncd")]
        if random.random() < 0.9:
            headers.append((b"Authorization", b"Bearer " + random.choice(self.tokens)))
        if body is not None:
            headers, body = self.framed(headers, body)
        headers += self.further()
        random.shuffle(headers)
        head = method + b" " + path + b" " + version + b"\r\n"
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        return head + lines + b"\r\n" + (body or b"")

    def framed(self, headers, body):
        """The body with a length, in chunks, or with lies about either."""
        random = self.random
        if random.random() < 0.3:
            sizes = [b"%x" % len(body)]
            if random.random() < 0.5:
                sizes.append(random.choice(CHUNK_SIZES))
            chunks = b"".join(size + b"\r\n" + body + b"\r\n" for size in sizes)
            chunks += b"0\r\n\r\n"
            coding = random.choice(CODINGS) if random.random() < 0.3 else b"chunked"
            headers = [*headers, (b"Transfer-Encoding", coding)]
            return headers, body if random.random() < 0.1 else chunks
        length = random.choice(LENGTHS) if random.random() < 0.3 else b"%d" % len(body)
        lengths = [(b"Content-Length", length)]
        if random.random() < 0.1:
            lengths.append((b"Content-Length", b"%d" % random.randrange(len(body) + 10)))
        if random.random() < 0.1:
            lengths.append((b"Transfer-Encoding", random.choice(CODINGS)))
        return headers + lengths, body

    def further(self):
        random = self.random
        kind = random.randrange(12)
        if kind == 0:
            return [(b"X", b"y" * random.choice((10, 5000, 40000, 300000)))]
        if kind == 1:
            return [(b"H%d" % i, b"v") for i in range(random.choice((10, 500, 5000)))]
        if kind == 2:
            return [(b"Authorization", b"Bearer " + random.choice(self.tokens))]
        if kind == 3:
            return [(b"Expect", random.choice((b"100-continue", b"200-ok", b"")))]
        if kind == 4:
            return [(b"Connection", random.choice((b"close", b"keep-alive", b"upgrade", b"\x00")))]
        if kind == 5:
            return [(b"Accept", random.choice((b"application/vnd.attnc.entry", b"*/*" * 2000)))]
        if kind == 6:
            return [(random.choice((b"", b" ", b"a b", b"\xff", b":", b"a" * 9000)), b"v")]
        return []

    def damaged(self, data):
        """Bytes changed, left out, doubled or put in, or the end left out."""
        random = self.random
        if not data:
            return data
        at = random.randrange(len(data))
        to = min(len(data), at + random.choice((1, 1, 2, 10, 100)))
        kind = random.randrange(7)
        if kind == 0:
            return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
        if kind == 1:
            return data[:at] + data[to:]
        if kind == 2:
            return data[:to] + data[at:]
        if kind == 3:
            return data[:at] + random.randbytes(to - at) + data[at:]
        if kind == 4:
            return data[:at]
        if kind == 5:
            return data.replace(b"\r\n", random.choice((b"\n", b"\r", b"\r\r\n", b"\0\r\n")),
                                random.choice((1, 3, -1)))
        more = random.choice((b"\r\n", b"\r\n\r\n", b" ", b"\0", b":", b"\t"))
        return data[:at] + more + data[at:]
