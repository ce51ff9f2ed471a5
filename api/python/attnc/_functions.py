"""The functions and reductions of specs. Some have names of Python's own functions, so that this
module says `builtins` where it means those."""
import builtins

from attnc._declarations import ElementType
from attnc._expressions import Call, Dim, error, expression, reduction


def _of_one(name):
    def function(x):
        return Call(name, expression(x))
    return _titled(function, name)


def _of_two(name):
    def function(a, b):
        return Call(name, expression(a), expression(b))
    return _titled(function, name)


def _over(name):
    def function(over, x):
        return reduction(name, over, x)
    return _titled(function, name)


def _titled(function, name):
    function.__name__ = function.__qualname__ = name
    return function


abs, relu, floor, exp, exp2, log, log2, sqrt, rsqrt, tanh, erf, sigmoid, silu, gelu = builtins.map(
    _of_one, ("abs", "relu", "floor", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "erf",
              "sigmoid", "silu", "gelu"))
maximum, minimum, xlogy = builtins.map(_of_two, ("maximum", "minimum", "xlogy"))
sum, prod, max, min, mean, all, any, logsumexp, softmax = builtins.map(
    _over, ("sum", "prod", "max", "min", "mean", "all", "any", "logsumexp", "softmax"))


def where(condition, a, b):
    """a where the condition holds, else b."""
    return Call("where", expression(condition), expression(a), expression(b))


def clamp(x, low, high):
    """x between two bounds; high wins over low."""
    return Call("clamp", expression(x), expression(low), expression(high))


def cast(x, element):
    """x as a type of storage holds it."""
    if not isinstance(element, ElementType):
        raise error(f"cast takes a type second, this is {element!r}", "as in cast(x, i64)")
    return Call("cast", expression(x), element)


def size(dim):
    """The extent of a dim, an integer."""
    if not isinstance(dim, Dim):
        raise error(f"size takes a dim, this is {dim!r}", "as in size(j)")
    return Call("size", dim)


def rand(seed, *indices):
    """Uniform in [0, 1), a function of the seed and of one to four integers alone."""
    return Call("rand", expression(seed), *builtins.map(expression, indices))
