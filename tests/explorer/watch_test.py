"""attnc watch: what it says when a file is saved.

usage: watch_test.py ATTNC
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import queue

SPEC = {"attnc": 1, "inputs": {"x": "f32[i]"}, "body": ["o = 2 * x"], "outputs": {"o": "f32"},
        "reference": {"shape": {"i": 5}}}
SECONDS = 60  # for one answer, on a machine that does much else


class Watch:
    """A running `attnc watch`, whose answers end with the line that says how to end it."""

    def __init__(self, attnc, path, *arguments):
        self.process = subprocess.Popen([attnc, "watch", path, "--target", "cpu", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def answer(self):
        """The lines of one look at the file."""
        text = ""
        while "Ctrl-C ends" not in text:
            text += self.lines.get(timeout=SECONDS)
        return text

    def is_quiet(self):
        try:
            return not self.lines.get(timeout=0.5)
        except queue.Empty:
            return True

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=SECONDS)


def expect(text, *words):
    for word in words:
        assert word in text, f"'{word}' is not in:\n{text}"


def main(attnc):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "mine.json"
        path.write_text(json.dumps(SPEC))
        watch = Watch(attnc, str(path))
        expect(watch.answer(), "mine", "ok")
        assert watch.is_quiet()

        path.write_text(json.dumps({**SPEC, "body": ["o = 2 * y"]}))
        expect(watch.answer(), "mine.json:1:", "unknown name 'y'")

        # As editors save: another file takes its place.
        other = pathlib.Path(folder) / "mine.json.new"
        other.write_text(json.dumps(SPEC))
        os.replace(other, path)
        expect(watch.answer(), "ok")
        (pathlib.Path(folder) / "another.json").write_text("{}")
        assert watch.is_quiet()
        watch.end()

        (pathlib.Path(folder) / "base.json").write_text(json.dumps(SPEC))
        path.write_text(json.dumps({"attnc": 1, "extends": "base.json"}))
        watch = Watch(attnc, str(path))
        expect(watch.answer(), "ok")
        (pathlib.Path(folder) / "base.json").write_text(json.dumps({**SPEC, "body": ["o = z"]}))
        expect(watch.answer(), "base.json:1:", "unknown name 'z'")
        watch.end()

        path.write_text(json.dumps(SPEC))
        watch = Watch(attnc, str(path), "--explain", "--set", "T=f32")
        expect(watch.answer(), "--set T=f32")
        watch.end()
        watch = Watch(attnc, str(path), "--explain")
        expect(watch.answer(), "ok", "one kernel")
        watch.end()

        done = subprocess.run([attnc, "watch", folder + "/none.json"], capture_output=True, text=True)
        assert done.returncode == 2
        expect(done.stderr, "there is no file", "attnc new")


if __name__ == "__main__":
    main(sys.argv[1])
