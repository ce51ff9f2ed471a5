"""Specs as functions of Python: named dims, what their expressions are made of, and `spec`.

    from attnc.spec import dims, f32, inf, size, softmax, spec, sqrt, sum, types, where

    T = types("T=bf16")
    b, h, i, j, d, e = dims("b h i j d=64 e=64")

    @spec
    def causal(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
               scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
        s = sum(d, q * k) * scale
        p = softmax(j, where(j <= i, s, -inf))
        return sum(j, p * v)

The result is a dict as JSON has it, which attnc.compile and whatever takes a spec takes.
"""
from attnc import _declarations, _expressions
from attnc._declarations import dim, dims, let, types
from attnc._expressions import Expression
from attnc._functions import (abs, all, any, cast, clamp, erf, exp, exp2, floor, gelu, log, log2,
                              logsumexp, max, maximum, mean, min, minimum, prod, rand, relu, rsqrt,
                              sigmoid, silu, size, softmax, sqrt, sum, tanh, where, xlogy)
from attnc._spec_function import spec
from attnc._spec_text import Spec
from attnc._statements import named, part, repeat

__all__ = ["spec", "Spec", "Expression", "types", "dims", "dim", "let", "named", "part", "repeat",
           "f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8", "bool", "inf", "pi", "abs",
           "all", "any", "cast", "clamp", "erf", "exp", "exp2", "floor", "gelu", "log", "log2",
           "logsumexp", "max", "maximum", "mean", "min", "minimum", "prod", "rand", "relu",
           "rsqrt", "sigmoid", "silu", "size", "softmax", "sqrt", "sum", "tanh", "where", "xlogy"]

f16, bf16, f32, f64, i8, i32, i64, u8, bool = map(_declarations.ElementType, _declarations.STORAGE)
inf, pi = _expressions.Constant("inf"), _expressions.Constant("pi")
