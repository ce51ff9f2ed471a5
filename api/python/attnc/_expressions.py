"""Expressions of named dims, which Python's operators put together, and their text."""
import itertools
import keyword
import math
import numbers
import os
import sys

from attnc import errors

# How tightly text binds, loosest first: the grammar of docs/spec.md. A read with `else` may stand
# bare only where nothing is beside it.
ELSE, OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY, POWER, PRIMARY = range(10)

# How tightly an operation binds, and how tightly its operands have to.
_BINARY = {"or": (OR, OR, AND), "and": (AND, AND, NOT),
           **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), (COMPARISON, SUM, SUM)),
           **dict.fromkeys(("+", "-"), (SUM, SUM, PRODUCT)),
           **dict.fromkeys(("*", "/", "//", "%"), (PRODUCT, PRODUCT, UNARY)),
           "**": (POWER, PRIMARY, UNARY)}
_UNARY = {"not": ("not ", NOT, NOT), "-": ("-", UNARY, UNARY), "+": ("+", UNARY, UNARY)}

REDUCTIONS = frozenset(("sum", "prod", "max", "min", "mean", "all", "any", "logsumexp", "softmax"))
FUNCTIONS = frozenset((
    "where", "maximum", "minimum", "clamp", "abs", "relu", "floor", "exp", "exp2", "log", "log2",
    "sqrt", "rsqrt", "tanh", "erf", "sigmoid", "silu", "gelu", "xlogy", "cast", "size", "rand"))
_RESERVED = FUNCTIONS | REDUCTIONS | {"and", "or", "not", "else", "inf", "pi"}

_MOST_NESTED = 200  # as the language has it
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def place():
    """(file, line) of the code that called this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def error(message, remedy="", at=None):
    """A SpecError of the caller's line, or of the place `at`."""
    file, line = at or place()
    return errors.SpecError(f"{file}:{line}: error: {message}", remedy)


def checked_name(name):
    """The name that an identifier of Python stands for: `lambda_` is `lambda`, as PEP 8 has it."""
    name = name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name
    if not name.replace("_", "a").isalnum() or name[0].isdigit():
        raise error(f"'{name}' is no name", "a name is one word of letters, digits and _")
    if name in _RESERVED:
        raise error(f"the name '{name}' belongs to the language", "take another name")
    return name


def expression(value):
    """What stands in expressions, from an expression or a number."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return Number(int(value)) if value >= 0 else Operation("-", Number(-int(value)))
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return _real(float(value))
    remedy = {"bool": "a condition is a comparison; 1 and 0 are numbers",
              "tuple": "a tuple of dims is the first argument of a reduction",
              "str": "text stands in a spec of JSON only"}.get(
                  type(value).__name__, "numbers and expressions can; tensors are inputs")
    raise error(f"{value!r} cannot stand in an expression", remedy)


def _real(value):
    if value != value:
        raise error("NaN cannot stand in an expression", "inf - inf or 0 * inf are NaN, too")
    if math.copysign(1, value) < 0:  # also of -0.0
        return Operation("-", _real(-value))
    return Constant("inf") if value == float("inf") else Number(value)


def _binary(symbol):
    return (lambda self, other: Operation(symbol, self, expression(other)),
            lambda self, other: Operation(symbol, expression(other), self))


def _refused(message, remedy):
    def refuse(self, *_):
        raise error(message, remedy)
    return refuse


_NO_VALUE = ("an expression has no value while the spec is written, so Python cannot {}",
             "what varies with the data is chosen by where(condition, a, b)")


class Expression:
    """A function of named dims. `operands` are those of its operation."""
    operands = ()
    __array_ufunc__ = None  # so that NumPy's numbers leave operators to this class

    def __init__(self, *operands):
        self.place, self.operands = place(), operands

    def text(self, spell):
        """The text and how tightly it binds; spell(operand, tightness) is that of an operand."""
        raise NotImplementedError

    __add__, __radd__ = _binary("+")
    __sub__, __rsub__ = _binary("-")
    __mul__, __rmul__ = _binary("*")
    __truediv__, __rtruediv__ = _binary("/")
    __floordiv__, __rfloordiv__ = _binary("//")
    __mod__, __rmod__ = _binary("%")
    __pow__, __rpow__ = _binary("**")
    __and__, __rand__ = _binary("and")
    __or__, __ror__ = _binary("or")
    __lt__, __le__, __gt__, __ge__, __eq__, __ne__ = (
        _binary(symbol)[0] for symbol in ("<", "<=", ">", ">=", "==", "!="))
    __hash__ = object.__hash__

    def __neg__(self):
        return Operation("-", self)

    def __pos__(self):
        return Operation("+", self)

    def __invert__(self):
        return Operation("not", self)

    def __abs__(self):
        return Call("abs", self)

    def __getitem__(self, dims):
        return Labelled(self, labels(dims))

    def __repr__(self):
        return spelled(self)

    __bool__ = _refused(
        "an expression is neither true nor false while the spec is written",
        "`a and b`, `a or b`, `not a` are (a) & (b), (a) | (b), ~(a); `a < b < c` is "
        "(a < b) & (b < c); `if` is where(condition, a, b); max, min, all and any are those of "
        "attnc.spec")
    __iter__ = _refused(
        "an expression is not a sequence",
        "sum(dim, x) and the other reductions are those of attnc.spec: import them")
    __len__ = _refused(_NO_VALUE[0].format("take its length"), "the extent of a dim is size(dim)")
    __contains__ = _refused(_NO_VALUE[0].format("search it"), _NO_VALUE[1])
    __float__ = __int__ = __index__ = __complex__ = _refused(
        _NO_VALUE[0].format("make a number of it"),
        "exp, sqrt and the other functions are those of attnc.spec, not of math; cast converts")
    __matmul__ = __rmatmul__ = _refused("specs have no @", "a product is sum(d, q * k)")
    __xor__ = __rxor__ = _refused("specs have no ^", "a power is x ** y")
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refused(
        "specs have no shifts", "multiply with a power, or divide with //")
    __setitem__ = _refused("an expression cannot be changed",
                           "a label is written behind it: x = (...)[b, h]")


class Number(Expression):
    """A number from 0 on, finite."""

    def __init__(self, value):
        self.place, self.value = place(), value

    def text(self, spell):
        return repr(self.value), PRIMARY


class Name(Expression):
    """What is declared under a name: a dim, a let, an input or a param."""

    def __init__(self, name):
        self.place, self.name = place(), checked_name(name)

    def text(self, spell):
        return self.name, PRIMARY


class Constant(Name):
    """inf or pi."""

    def __init__(self, name):
        self.place, self.name = place(), name


class Declared(Name):
    """What a spec declares beside its function: `declaration` is the value that JSON has under the
    name, NOTHING if there is none, and `mentions` are the expressions in it."""
    NOTHING = object()
    counter = itertools.count()

    def __init__(self, name, declaration=NOTHING, mentions=()):
        super().__init__(name)
        self.declaration, self.mentions = declaration, mentions
        self.order = next(self.counter)


class Dim(Declared):
    """The index along a dim."""


class Let(Declared):
    """An integer of sizes."""


class Param(Name):
    """A scalar that the caller passes."""


class _Readable:
    def __getitem__(self, subscripts):
        return Read(self, *(_subscript(s) for s in _as_tuple(subscripts)))


class Input(_Readable, Name):
    """A tensor that the caller passes."""


class Operation(Expression):
    def __init__(self, symbol, *operands):
        super().__init__(*operands)
        self.symbol = symbol

    def text(self, spell):
        if len(self.operands) == 1:
            symbol, tightness, least = _UNARY[self.symbol]
            return symbol + spell(self.operands[0], least), tightness
        tightness, left, right = _BINARY[self.symbol]
        space = " " if tightness <= AND else spell.space
        return (spell(self.operands[0], left) + space + self.symbol + space
                + spell(self.operands[1], right), tightness)


class Call(Expression):
    """A function or a reduction. An argument may be a type or a tuple of dims."""

    def __init__(self, function, *arguments):
        super().__init__(*(part for argument in arguments for part in _as_tuple(argument)
                           if isinstance(part, Expression)))
        self.function, self.arguments = function, arguments

    def text(self, spell):
        arguments = map(Speller(spell.names), self.arguments)
        return f"{self.function}({', '.join(arguments)})", PRIMARY


class Read(Expression):
    """An input or a labelled result at subscripts."""

    def __init__(self, source, *subscripts, outside=None):
        super().__init__(source, *subscripts, *([] if outside is None else [outside]))
        self.source, self.subscripts, self.outside = source, subscripts, outside

    def otherwise(self, value):
        """This read, with a constant for subscripts that are outside."""
        return Read(self.source, *self.subscripts, outside=expression(value))

    def text(self, spell):
        compact = Speller(spell.names, space="")
        text = f"{compact(self.source)}[{','.join(map(compact, self.subscripts))}]"
        if self.outside is None:
            return text, PRIMARY
        return f"{text} else {spell(self.outside, UNARY)}", ELSE


class Labelled(_Readable, Expression):
    """What has an order of dims, and so is a statement of its own: its result can be read with
    subscripts."""

    def __init__(self, value, label, at=None):
        super().__init__(value)
        self.value, self.label, self.place = value, label, at or self.place


class Carried(_Readable, Expression):
    """What a repeat hands from one iteration to the next, within it or behind it."""

    def __init__(self, name, label, block):
        self.place, self.name, self.label, self.block = place(), name, label, block

    def __getitem__(self, subscripts):
        readable = _Readable if self.label is not None else Expression
        return readable.__getitem__(self, subscripts)

    def text(self, spell):
        return self.name, PRIMARY


class Speller:
    """Writes expressions. `names` are those of results by the id of the expression."""

    def __init__(self, names=None, space=" "):
        self.names, self.space = names or {}, space

    def __call__(self, value, least=ELSE):
        """The text of an expression where it has to bind with a tightness, of a tuple of dims, or
        of a type."""
        if isinstance(value, tuple):
            return f"({', '.join(dim.name for dim in value)})"
        if not isinstance(value, Expression):
            return value.name
        if id(value) in self.names:
            return self.names[id(value)]
        if isinstance(value, Labelled):
            return f"({self(value.value)})[{', '.join(dim.name for dim in value.label)}]"
        text, tightness = value.text(self)
        return text if tightness >= least else f"({text})"


def spelled(value):
    """The text of an expression of sizes, or for people."""
    check_depth(value)
    return Speller()(value)


def check_depth(value, named=()):
    """Refuses what is nested deeper than the language has it, where some parts have names."""
    depths = {}
    for node in walk(value, stop=lambda node: node is not value and id(node) in named):
        depths[id(node)] = 1 + max((depths.get(id(part), 0) for part in node.operands), default=0)
        if depths[id(node)] > _MOST_NESTED:
            raise error(f"the expression is more than {_MOST_NESTED} operations deep",
                        'name a part of it: x = named("x", ...)', node.place)


def reduction(name, over, operand):
    """A reduction over a dim or a tuple of them."""
    dims = _as_tuple(over)
    if not dims or not all(isinstance(dim, Dim) for dim in dims):
        raise error(f"{name} takes a dim first, or a tuple of them, this is {over!r}",
                    f"as in {name}(j, x)")
    return Call(name, dims if len(dims) > 1 else dims[0], expression(operand))


def labels(dims):
    """The dims of a label or of a tensor."""
    dims = _as_tuple(dims)
    for dim in dims:
        if not isinstance(dim, Dim):
            raise error(f"{dim!r} is no dim", "dims give an expression its label, as in "
                        "(x + y)[i, d]; inputs and what has a label are read with subscripts")
    if len({dim.name for dim in dims}) < len(dims):
        raise error("a dim occurs twice in a label", "name each dim of the value once")
    return dims


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _subscript(value):
    if isinstance(value, slice) or value is None or value is Ellipsis:
        raise error("a subscript is an integer expression, one for each dim",
                    "a dim stands for all of its indices: k[b, h, j, d]")
    return expression(value)


def walk(value, stop=lambda node: False):
    """An expression and all of its parts, each once, a part before what it is part of; those where
    `stop` is true are not taken apart."""
    seen, pending = set(), [(value, False)]
    while pending:
        node, done = pending.pop()
        if done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            pending.append((node, True))
            if not stop(node):
                pending.extend((operand, False) for operand in reversed(node.operands))


def check_sizes_only(value, what, at=None):
    """Refuses the index along a dim where a spec knows sizes and lets alone."""
    indices = [value]
    while indices:
        node = indices.pop()
        if isinstance(node, Dim):
            raise error(f"'{node.name}' is the index along a dim, which {what} does not have",
                        f"its extent is size({node.name})", at)
        if not (isinstance(node, Call) and node.function == "size"):
            indices.extend(node.operands)
