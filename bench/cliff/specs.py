"""Which specs are timed, by group: the library, those of the tests, those that once showed a cliff, and
programs drawn at random."""
import collections
import json
import pathlib
import re
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {"library": REPOSITORY / "kernels_spec", "tests": REPOSITORY / "tests/e2e/specs",
           "found": REPOSITORY / "bench/specs/found"}
DRAWN = "random"
GROUPS = (*FOLDERS, DRAWN)

Spec = collections.namedtuple("Spec", "group name path content")

# A string, or what is a comment outside of one.
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.S)


def read(path):
    text = path.read_text(encoding="utf-8")
    content = json.loads(_STRING_OR_COMMENT.sub(
        lambda found: found[0] if found[0].startswith('"') else " ", text))
    return whole(path.stem) if "extends" in content else content


def whole(name):
    """A spec of the library, with what it extends."""
    binary = next(path for path in (REPOSITORY / "build/bin/attnc", REPOSITORY / "bin/attnc")
                  if path.exists())
    return json.loads(subprocess.run([binary, "show", name, "--whole"], capture_output=True,
                                     check=True).stdout)


def collect(drawn=None):
    """All specs, group by group; `drawn` is a folder that `draw` has written."""
    folders = {**FOLDERS, **({DRAWN: drawn} if drawn else {})}
    for group, folder in folders.items():
        paths = sorted(folder.glob("*.json"))
        if not paths:
            raise FileNotFoundError(f"{folder} has no specs")
        for path in paths:
            yield Spec(group, path.stem, path, read(path))


def draw(binary, seed, count, folder):
    """Writes the first `count` programs that the fuzzer of programs draws from a seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        text = subprocess.run([binary, "--seed", str(seed), "--show", str(number)],
                              capture_output=True, text=True, check=True).stdout
        (folder / f"drawn_{seed}_{number:03}.json").write_text(text, encoding="utf-8")


def statements(content):
    """The statements of the body, those of repeats once, each as one line."""
    def walk(body):
        for statement in body:
            if isinstance(statement, dict):
                yield from walk(statement["body"])
            else:
                lines = statement if isinstance(statement, list) else [statement]
                yield " ".join(lines).replace("\n", " ")
    return list(walk(content["body"]))
