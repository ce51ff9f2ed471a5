#!/usr/bin/env python3
"""Builds libattnc_torch.so in FOLDER with the headers of the PyTorch that this Python has, if it is
not there or older than they are.
usage: build.py FOLDER"""
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = (HERE / "calls.cpp", ROOT / "api/include/attnc_c.h",
           ROOT / "runtime/program/layout_cache.h", pathlib.Path(__file__))
# The oldest PyTorch that attnc.torch is for. What is built for it runs with later ones.
TARGET = "0x020b000000000000"


def command(torch, output):
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    return [*compiler, "-std=c++20", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared",
            "-fvisibility=hidden", f"-DTORCH_TARGET_VERSION={TARGET}",
            "-isystem", torch / "include", "-I", ROOT, "-I", ROOT / "api/include", SOURCES[0],
            "-L", torch / "lib", "-ltorch_cpu", "-Wl,-z,defs", "-o", output]


def main():
    folder, = map(pathlib.Path, sys.argv[1:])
    found = importlib.util.find_spec("torch")
    if found is None:
        sys.exit("build.py: this Python has no PyTorch")
    torch, output = pathlib.Path(found.origin).parent, folder / "libattnc_torch.so"
    newest = max(p.stat().st_mtime for p in (*SOURCES, torch / "version.py"))
    if output.exists() and output.stat().st_mtime > newest:
        return
    made = output.with_suffix(f".{os.getpid()}")  # others may have the old one loaded
    subprocess.run(command(torch, made), check=True)
    made.replace(output)


if __name__ == "__main__":
    main()
