"""attnc from Python: a spec becomes a program, a program is called with tensors.

    program = attnc.compile("causal", target="sm_90a", set={"d": 128, "e": 128})
    o = program(q=q, k=k, v=v)                        # allocates o, as PyTorch or NumPy does
    program(q=q, k=k, v=v, out={"o": o}, scale=0.1)   # writes into o
    plan = program.bind(q=q, k=k, v=v, out={"o": o})  # checks once,
    plan()                                            # launches many times
    program.save("causal.program")                    # attnc.load reads it, also without NVRTC
    jit = attnc.Jit(); jit.compile(...)               # as attnc.compile, remembered
    program.backward(grad_o=g, ...)                   # gradients, if the spec has the key `grad`

Programs take tensors of PyTorch, arrays of NumPy, CuPy and JAX, and whatever else has
`__dlpack__`, `__cuda_array_interface__` or `__array_interface__`, and give back outputs of the same
library. bf16, which NumPy lacks, is uint16 there. Launches are asynchronous, on PyTorch's current
stream unless `stream` is given.

This package needs the standard library and libattnc.so, which it looks for in ATTNC_LIBRARY (a
file), in itself, and where the bundle, an installation and the build folder have it. Programs,
plans and jits may be used from several threads.
"""
from attnc._abi import version
from attnc._array import Array
from attnc._compilation import Jit, compile, load
from attnc._specs import names as library
from attnc._programs import Kernel, Param, Plan, Program, Tensor
from attnc.errors import (CompilationError, Error, InternalError, InvalidArgument, SpecError,
                          Unavailable)

__all__ = ["compile", "load", "version", "library", "Jit", "Program", "Plan", "Tensor", "Param",
           "Kernel", "Array", "Error", "InvalidArgument", "SpecError", "Unavailable",
           "CompilationError", "InternalError"]
