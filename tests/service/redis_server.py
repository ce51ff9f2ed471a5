"""A real redis-server for a test, and one that is not what it says."""
import contextlib
import pathlib
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time


class RedisServer:
    """On a Unix socket in `folder`; keeps nothing when it ends."""

    def __init__(self, folder, *options):
        program = shutil.which("redis-server")
        if not program:
            raise RuntimeError("redis-server is missing: ./dev setup installs it")
        self.socket = pathlib.Path(folder) / "redis.sock"
        self.address = f"redis+unix:{self.socket}"
        self.command = [program, "--port", "0", "--unixsocket", str(self.socket), "--save", "",
                        "--appendonly", "no", "--dir", str(folder), *options]
        self.start()

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            self.socket.unlink()
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(500):
            with contextlib.suppress(OSError):
                assert self.ask("PING") == b"PONG"
                return
            time.sleep(0.01)
        raise RuntimeError("redis-server does not start")

    def ask(self, *words):
        """The answer: bytes, a number, None, or a list of these."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(self.socket))
            words = [word.encode() if isinstance(word, str) else word for word in words]
            connection.sendall(b"*%d\r\n" % len(words) +
                               b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            with connection.makefile("rb") as answer:
                return self.read(answer)

    def read(self, answer):
        line = answer.readline()
        if line[:1] == b"$":
            size = int(line[1:])
            return None if size < 0 else answer.read(size + 2)[:-2]
        if line[:1] == b"*":
            return [self.read(answer) for _ in range(int(line[1:]))]
        return int(line[1:]) if line[:1] == b":" else line[1:].strip()

    def keys(self):
        return sorted(key.decode() for key in self.ask("KEYS", "*"))

    def stall(self):
        self.process.send_signal(signal.SIGSTOP)

    def end(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class LyingServer:
    """Takes connections at a Unix socket and answers whatever comes, each time it comes, with what
    `lie(connection, request)` sends. The connection ends where it returns True."""

    def __init__(self, folder, lie, scheme="redis+unix:"):
        path = pathlib.Path(folder) / "liar.sock"
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        self.requests = []

        class Handler(socketserver.BaseRequestHandler):
            def handle(handler):
                with contextlib.suppress(OSError):
                    while request := handler.request.recv(1 << 20):
                        self.requests.append(request)
                        if lie(handler.request, request):
                            return

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True
            block_on_close = False

        self.server = Server(str(path), Handler)
        self.address = f"{scheme}{path}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
