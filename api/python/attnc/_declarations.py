"""What specs declare: types, dims and lets, and the tensors and scalars that a function takes."""
from attnc._expressions import (SUM, Constant, Declared, Dim, Expression, Let, Name, Speller,
                                check_sizes_only, checked_name, error, expression, labels, place,
                                spelled, walk)

STORAGE = ("f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8", "bool")
_OF_PARAMS = ("f32", "i64")


class _Bounded:
    """What takes bounds: f32 > 0 is a param."""

    def __lt__(self, bound):
        return self.bounded("<", bound)

    def __le__(self, bound):
        return self.bounded("<=", bound)

    def __gt__(self, bound):
        return self.bounded(">", bound)

    def __ge__(self, bound):
        return self.bounded(">=", bound)


class ElementType(_Bounded):
    """A type of storage, or a name for one: T[b, h] is a tensor of it, f32 > 0 a scalar."""

    def __init__(self, name, storage=None):
        self.name, self.declaration, self.place = name, storage or Declared.NOTHING, place()
        self.order = next(Declared.counter)

    def __getitem__(self, dims):
        return Tensor(self, labels(dims))

    def __repr__(self):
        return self.name

    def bounded(self, symbol, bound):
        return Scalar(self).bounded(symbol, bound)


class Tensor:
    """A tensor: its type, and its dims in the order of storage."""

    def __init__(self, element, dims):
        self.element, self.dims = element, dims

    def __repr__(self):
        return f"{self.element}[{', '.join(dim.name for dim in self.dims)}]"


class Scalar(_Bounded):
    """A param: its type and its bounds."""

    def __init__(self, element, bounds=(), at=None):
        if element.name not in _OF_PARAMS:
            raise error(f"a param is f32 or i64, not {element}",
                        f"a tensor has dims: {element}[b, h], or {element}[()] for one element",
                        at)
        self.element, self.bounds = element, bounds

    def bounded(self, symbol, bound):
        bound = expression(bound)
        if any(isinstance(part, Name) and not isinstance(part, Constant) for part in walk(bound)):
            raise error(f"the bound {bound!r} is not a constant", "a fact about sizes is a "
                        "requirement: spec(require=[...])")
        return Scalar(self.element, (*self.bounds, (symbol, bound)))

    def __bool__(self):
        raise error("two bounds are not chained in Python",
                    f"put the first into parentheses: ({self!r}) < 1")

    def __repr__(self):
        spell = Speller()
        return "".join([self.element.name, *(f" {symbol} {spell(bound, SUM)}"
                                             for symbol, bound in self.bounds)])


def types(names):
    """Named types, as in T = types("T=bf16"): one, or a tuple of several."""
    def declared(name, storage):
        if storage not in STORAGE:
            raise error(f"'{name}' has no type of storage",
                        f'as in types("T=bf16"); the types are {", ".join(STORAGE)}')
        return ElementType(checked_name(name), storage)
    return _each(names, declared)


def dims(names):
    """Dims by their names, some with an extent: i, j, d = dims("i j d=64"). A dim without one has
    that of the inputs which carry it."""
    def declared(name, extent):
        if extent and not extent.isdecimal():
            raise error(f"the extent '{extent}' of '{name}' is no number",
                        f'one that is computed stands in dim("{name}", ...)')
        return Dim(name, int(extent) if extent else Declared.NOTHING)
    return _each(names, declared)


def _each(names, declared):
    """What is declared for each word `name` or `name=value`: one thing, or a tuple of several."""
    words = [word.partition("=") for word in names.replace(",", " ").split()]
    if not words:
        raise error(f"{names!r} names nothing", "give names, with blanks between them")
    found = tuple(declared(name, value) for name, _, value in words)
    return found if len(found) > 1 else found[0]


def dim(name, extent=Declared.NOTHING, *, length=None, ragged=None, over=None, max=None):
    """A dim of an extent that is computed, dim("j", size(w) * size(t)), or that the caller gives,
    dim("m", None); of a length for each of other dims, dim("j", length="len[b]"); or of packed
    sequences, dim("i", ragged="cu", over=b). What names inputs is text. `max` is the extent of a
    dim with lengths, or the greatest length of a sequence."""
    mentions = [value for value in (extent, length, over, max) if isinstance(value, Expression)]
    if (extent is not Declared.NOTHING) + (length is not None) + (ragged is not None) != 1:
        raise error(f"the dim '{name}' needs one of: an extent, a length, ragged",
                    f'where inputs give its extent, it is dims("{name}")')
    if length is not None:
        return Dim(name, _keys(extent=length, max=max), mentions)
    if ragged is not None:
        return Dim(name, _keys(ragged=ragged, over=over, max=max), mentions)
    if isinstance(extent, Expression):
        check_sizes_only(extent, "the extent of a dim")
    return Dim(name, _value(extent), mentions)


def let(name, value):
    """An integer of sizes and other lets, or a number that `set` may replace: let("w", 64)."""
    check_sizes_only(expression(value), "a let")
    return Let(name, _value(value), [value] if isinstance(value, Expression) else [])


def _keys(**keys):
    return {key: _value(value) for key, value in keys.items() if value is not None}


def _value(value):
    """A number or an expression as JSON has it."""
    return spelled(value) if isinstance(value, Expression) else value
