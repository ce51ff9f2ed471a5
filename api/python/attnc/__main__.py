"""`python -m attnc` and `attnc` of the wheel: the command line."""
import os
import pathlib
import sys

from attnc import _nvrtc


def main():
    """Becomes the command line, with the arguments of this process."""
    package = pathlib.Path(__file__).resolve().parent
    places = [package / "bin/attnc", package.parents[2] / "build/bin/attnc"]
    binary = next((place for place in places if place.exists()), None)
    if binary is None:
        print("attnc: the command line was not found: " + ", ".join(map(str, places)),
              file=sys.stderr)
        return 4
    _nvrtc.name_wheel()
    os.execv(binary, [str(binary), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
