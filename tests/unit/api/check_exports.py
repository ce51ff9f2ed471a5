#!/usr/bin/env python3
"""Whether libattnc.so shows the functions that its header declares, and nothing else.

usage: check_exports.py NM LIBRARY HEADER
"""
import pathlib
import re
import subprocess
import sys


def main():
    nm, library, header = sys.argv[1:]
    listing = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True,
                             check=True).stdout
    exported = {line.split()[-1] for line in listing.splitlines()}
    text = pathlib.Path(header).read_text(encoding="utf-8")
    declared = set(re.findall(r"^ATTNC_API [^;]*?(attnc_\w+)\(", text, re.M))
    for name in sorted(exported - declared):
        print(f"exported, but not declared: {name}")
    for name in sorted(declared - exported):
        print(f"declared, but not exported: {name}")
    print(f"{len(declared)} functions declared, {len(exported)} symbols exported")
    sys.exit(1 if exported != declared or not declared else 0)


if __name__ == "__main__":
    main()
