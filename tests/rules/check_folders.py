"""No folder holds more files than a person reads at a glance.

usage: check_folders.py ROOT

A folder of the sources that grows beyond LIMIT gets rooms: folders below it, one for a subject.
"""
import os
import sys

LIMIT = 30
PARTS = ["api", "compiler", "dialects", "runtime", "tools"]


def crowded(root):
    for part in PARTS:
        for folder, rooms, files in os.walk(os.path.join(root, part)):
            rooms[:] = [room for room in rooms if room != "__pycache__"]
            count = sum(not file.startswith(".") for file in files)
            if count > LIMIT:
                yield f"{os.path.relpath(folder, root)} holds {count} files, {LIMIT} at most: divide it"


def main(root):
    missing = [part for part in PARTS if not os.path.isdir(os.path.join(root, part))]
    found = [f"{part}: no such folder in {root}" for part in missing] + list(crowded(root))
    print("\n".join(found) or "folders: ok")
    return 1 if found else 0


sys.exit(main(*sys.argv[1:]))
