#!/usr/bin/env python3
"""The time from the text of a spec to loaded kernels in this process, which has done nothing else
but to open the GPU. usage: cold_compile.py SPEC TARGET SET_AS_JSON"""
import ctypes
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE.parent / "api/python", HERE.parent / "python"):
    sys.path.insert(0, str(folder))

import attnc  # noqa: E402


def open_gpu():
    """Making the primary context takes longer than compiling, and every program does it once."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    for result in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)):
        if result:
            sys.exit(f"CUDA error {result}")


def main():
    spec, target, values = sys.argv[1:]
    attnc.version()  # loads the library
    open_gpu()
    start = time.perf_counter()
    program = attnc.compile(spec, target=target, set=json.loads(values))
    program.load(0)
    print(json.dumps({"seconds": time.perf_counter() - start, "compile": program.seconds,
                      "nvrtc": program.nvrtc_seconds}))


if __name__ == "__main__":
    main()
