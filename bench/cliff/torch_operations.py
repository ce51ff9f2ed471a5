"""Operators and functions of specs, in PyTorch. What is known when the program is written is computed then."""
import dataclasses
import math
import operator

from cliff.torch_code import ANY, BEYOND, HALVES, NotSaid, known, wider

_FOLDED = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
           "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt,
           ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
           "maximum": max, "minimum": min, "abs": abs, "relu": lambda x: max(x, 0),
           "not": operator.not_, "negate": operator.neg,
           "floor": lambda x: float(math.floor(x)), "exp": math.exp, "exp2": lambda x: 2.0 ** x,
           "log": math.log, "log2": math.log2, "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x),
           "tanh": math.tanh, "erf": math.erf, "sigmoid": lambda x: 1 / (1 + math.exp(-x))}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
FUNCTIONS = {"exp": "torch.exp({})", "exp2": "torch.exp2({})", "log": "torch.log({})", "log2": "torch.log2({})",
             "sqrt": "torch.sqrt({})", "rsqrt": "torch.rsqrt({})", "tanh": "torch.tanh({})",
             "erf": "torch.erf({})", "sigmoid": "torch.sigmoid({})", "floor": "torch.floor({})",
             "silu": "torch.nn.functional.silu({})", "gelu": "torch.nn.functional.gelu({})"}
# The ends of integer types; those of i64 are the last that f32 and f64 hold.
ENDS = {"i8": (-128, 127), "u8": (0, 255), "i32": (-2 ** 31, 2 ** 31 - 1), "i64": (-2 ** 63, 2 ** 63 - 1)}
_LAST = {"f32": 2 ** 63 - 2 ** 39, "f64": 2 ** 63 - 2 ** 10}


def folded(name, *values):
    """What is computed of known numbers; None where something is not known."""
    if name not in _FOLDED or any(value.known is None for value in values):
        return None
    try:
        return known(_FOLDED[name](*(value.known for value in values)))
    except (ArithmeticError, ValueError):
        raise NotSaid(f"`{name}` of constants that gives no number") from None


def arithmetic(code, name, a, b):
    """a + b, a - b, a * b."""
    if (found := folded(name, a, b)) is not None:
        return found
    ended = product_ended([a, b]) if name == "*" else a.ended & b.ended
    more = {"infinite": a.infinite or b.infinite, "ended": ended}
    if kind := kept_half(name, a, b):
        return code.elementwise(f"{{}} {name} {{}}", [a, b], kind, **more)
    kind = wider([a, b])
    if name == "-" and a.infinite and b.infinite:  # -inf - -inf is -inf
        return code.elementwise("torch.where({0} == -inf, -inf, {0} - {1})", [a, b], kind, kind, **more)
    return code.elementwise(f"{{}} {name} {{}}", [a, b], kind, kind, **more)


def product_ended(factors):
    """The dims beyond whose length a product is 0, which 0 times infinity is not."""
    return frozenset().union(*(factor.ended for factor in factors if not any(
        other.infinite for other in factors if other is not factor)))


def kept_half(name, a, b):
    """The 16-bit type that a result keeps, as in code written by hand: what is scaled by a number, and a
    sum of two."""
    if name in "*/" and a.is_half and b.known is not None:
        return a.type
    if name == "*" and b.is_half and a.known is not None:
        return b.type
    return a.type if name == "+" and a.is_half and b.is_half and a.type == b.type else None


def divided(code, a, b):
    """a / b."""
    if (found := folded("/", a, b)) is not None:
        return found
    more = {"infinite": a.infinite, "ended": a.ended}
    if kind := kept_half("/", a, b):
        return code.elementwise("{} / {}", [a, b], kind, **more)
    kind = "f64" if "f64" in (a.type, b.type) else "f32"
    return code.elementwise("{} / {}", [a, b], kind, kind, **more)


def floored(code, name, a, b):
    """a // b and a % b. Of integers both are 0 where b is."""
    kind = wider([a, b])
    if a.known is not None and b.known is not None and kind == "i64":
        return known((a.known // b.known if name == "//" else a.known % b.known) if b.known else 0)
    if kind != "i64":
        quotient = "torch.floor({0} / {1})"
        whole = quotient if name == "//" else f"{{0}} - {{1}} * {quotient}"
        return code.elementwise(whole, [a, b], kind, kind)
    if b.known:
        return code.elementwise(f"{{}} {name} {{}}", [a, b], kind)
    if a.known is not None:
        a = code.widened(a, b.dims)
    whole = f"torch.where({{1}} == 0, 0, {{0}} {name} torch.where({{1}} == 0, 1, {{1}}))"
    return code.elementwise(whole, [a, b], kind)


def power(code, a, b):
    if (found := folded("**", a, b)) is not None:
        return found
    if a.type == "i64" and b.type == "i64" and b.known is not None and 0 <= b.known <= 16:
        return code.elementwise("{} ** {}", [a, b], "i64")
    kind = "f64" if "f64" in (a.type, b.type) else "f32"
    return code.elementwise("torch.pow({}, {})", [a, b], kind, kind)


def compared(code, name, a, b):
    if (found := folded(name, a, b)) is not None:
        return found
    return code.elementwise(f"{{}} {name} {{}}", [a, b], "bool", wider([a, b]))


def joined(code, name, a, b):
    """a and b, a or b. A side that is known decides or does not matter."""
    for one, other in ((a, b), (b, a)):
        if one.known is not None:
            return code.widened(other if one.known == (name == "and") else one, code.union([a, b]))
    return code.elementwise(f"{{}} {'&' if name == 'and' else '|'} {{}}", [a, b], "bool")


def negated(code, name, a):
    """-a of a number, `not a` of a condition."""
    if (found := folded("not" if name == "not" else "negate", a)) is not None:
        return found
    if name == "not":
        return code.elementwise("~{}", [a], "bool")
    return code.elementwise("-{}", [a], a.type, infinite=a.infinite, ended=a.ended)


def chosen(code, condition, a, b):
    """where(condition, a, b)."""
    kind = "bool" if a.type == "bool" else wider([a, b])
    if condition.known is not None:
        value = a if condition.known else b
        return code.widened(code.converted(value, value.type if value.is_half else kind), code.union([a, b]))
    kind = masked_half(a, b) or kind
    more = {"half": BEYOND} if beyond_half(a) or beyond_half(b) else {}
    return code.elementwise("torch.where({}, {}, {})", [condition, a, b], kind, kind,
                            infinite=a.infinite or b.infinite, **more)


def masked_half(a, b):
    """The 16-bit type of a masked value, and of a choice between two."""
    plain = (0, math.inf, -math.inf)
    for one, other in ((a, b), (b, a)):
        if one.is_half and (other.known in plain or other.is_half and other.type == one.type):
            return one.type
    return None


def beyond_half(value):
    return value.known is not None and 65504 < abs(value.known) < math.inf


def extreme(code, name, a, b):
    """maximum(a, b), minimum(a, b)."""
    if (found := folded(name, a, b)) is not None:
        return found
    kind = wider([a, b])
    larger = name == "maximum"
    infinite = a.infinite and b.infinite if larger else a.infinite or b.infinite
    if a.known is not None:
        a, b = b, a
    if b.known is not None:
        return code.elementwise(f"torch.clamp({{}}, {'min' if larger else 'max'}={{}})", [a, b], kind, kind,
                                infinite=infinite)
    return code.elementwise(f"torch.{name}({{}}, {{}})", [a, b], kind, kind, infinite=infinite)


def function(code, name, a):
    """A function of one number."""
    if (found := folded(name, a)) is not None:
        return found
    if name == "relu":
        return extreme(code, "maximum", a, known(0))
    kind = wider([a])
    if a.known is not None:
        raise NotSaid(f"`{name}` of a constant")
    if name == "abs":
        return code.elementwise("torch.abs({})", [a], kind, kind, infinite=a.infinite, ended=a.ended)
    kind = "f64" if kind == "f64" else "f32"
    return code.elementwise(FUNCTIONS[name], [a], kind, kind,
                            infinite=name in ("log", "log2") or name == "floor" and a.infinite)


def xlogy(code, a, b):
    kind = "f64" if "f64" in (a.type, b.type) else "f32"
    a, b = (code.widened(value, other.dims) if value.known is not None else value
            for value, other in ((a, b), (b, a)))
    return code.elementwise("torch.xlogy({}, {})", [a, b], kind, kind, ended=a.ended)


def cast(code, a, kind):
    if a.known is not None:
        return cast_number(code, a, kind)
    if kind == "bool":
        return code.elementwise("{} != 0", [a], "bool") if a.type != "bool" else a
    if kind in ENDS:
        return cast_to_integer(code, a, kind)
    if a.type == kind:
        return a
    source = code.converted(a, "f32") if a.type == "i64" and kind in HALVES else a
    half = kind if kind in HALVES else ANY if a.half == ANY else None
    return code.elementwise("{}", [source], kind, kind, half=half, infinite=a.infinite)


def cast_to_integer(code, a, kind):
    """Towards zero, to the ends of the type where it is beyond them, and NaN to 0."""
    low, high = ENDS[kind]
    small = kind in ("i8", "u8")
    if not a.is_real:
        whole = "{}.to(torch.int64)" if a.type == "bool" else "{}"
        clamped = whole if kind == "i64" else f"{whole}.clamp({low}, {high})"
        return code.elementwise(clamped, [a], "i64", small=small)
    wide = "f64" if a.type == "f64" else "f32"
    whole = ("torch.nan_to_num(torch.trunc({}), 0.0, inf, -inf)"
             f".clamp(-2.0 ** 63, {_LAST[wide]}.0).to(torch.int64)")
    clamped = whole if kind == "i64" else f"{whole}.clamp({low}, {high})"
    return code.elementwise(clamped, [a], "i64", wide, small=small)


def cast_number(code, a, kind):
    if kind == "bool":
        return known(a.known != 0)
    if kind in ENDS:
        low, high = ENDS[kind]
        return known(int(min(max(a.known, low), high)))
    if kind in HALVES:
        raise NotSaid("a constant that is rounded to 16 bits")
    return dataclasses.replace(known(float(a.known)), type=kind)
