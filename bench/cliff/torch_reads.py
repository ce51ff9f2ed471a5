"""Reads with subscripts, in PyTorch: slices where they will do, and else indices."""
import dataclasses
import functools

from cliff import torch_operations as operations
from cliff.torch_code import NotSaid, known


@dataclasses.dataclass
class Subscript:
    """What stands in for an axis. `size`: of the axis. `index`: whether it is the index along a dim, within
    the axis. `alone`: whether that dim is in no other subscript, so that a slice will do. `checked`: whether
    it may be outside."""
    value: object
    axis: str
    size: int
    index: bool = False
    alone: bool = False
    checked: bool = False

    @property
    def is_slice(self):
        return self.index and self.alone


def read(writer, array, nodes, otherwise):
    """The value of array[nodes] else otherwise."""
    code = writer.code
    values = [writer.value(node) for node in nodes]
    subscripts = [subscript_of(writer, values, value, axis, otherwise is not None)
                  for value, axis in zip(values, array.dims)]
    beyond = writer.value(otherwise) if otherwise else known(False if array.type == "bool" else 0)
    if any(s.value.known is not None and not 0 <= s.value.known < s.size for s in subscripts):
        return code.widened(beyond, code.union(values))
    found = indexed(code, sliced(code, array, subscripts), subscripts)
    checks = [check(writer, subscripts, subscript) for subscript in subscripts if subscript.checked]
    if not checks:
        return found
    inside = functools.reduce(lambda a, b: operations.joined(code, "and", a, b), checks)
    return operations.chosen(code, inside, found, beyond)


def subscript_of(writer, values, value, axis, guarded):
    """What is known when the program is written is inside, unless the read is `guarded` by an `else`; what
    data or lengths have a part in may be outside."""
    code, size = writer.code, writer.code.size(axis)
    index = is_index(code, value) and code.size(value.dims[0]) <= size
    index = index and (value.dims[0] == axis or not writer.lengthened([axis]))
    alone = index and sum(value.dims[0] in other.dims for other in values) == 1
    doubtful = guarded or value.data or bool(writer.lengthened([axis, *value.dims]))
    return Subscript(value, axis, size, index, alone, doubtful and not index and value.known is None)


def is_index(code, value):
    """Whether a value is the index along a dim."""
    return len(value.dims) == 1 and value.code == code.index(value.dims[0]).code


def check(writer, subscripts, subscript):
    """Whether a subscript is inside."""
    code, end = writer.code, known(subscript.size)
    if writer.lengthened([subscript.axis]):
        end = writer.length(subscript.axis)
        along = {other.axis for other in subscripts
                 if is_index(code, other.value) and other.value.dims == (other.axis,)}
        if not set(end.dims) <= along:
            raise NotSaid("a read of another sequence, whose length is its own")
    return operations.joined(code, "and", operations.compared(code, ">=", subscript.value, known(0)),
                             operations.compared(code, "<", subscript.value, end))


def sliced(code, array, subscripts):
    """The array without the axes that have a number, and with those cut to size that have an index. Its axes
    are named by the places of their subscripts."""
    parts, axes = [], []
    for place, subscript in enumerate(subscripts):
        number = subscript.value.known
        end = code.size(subscript.value.dims[0]) if subscript.is_slice else subscript.size
        parts.append(str(number) if number is not None else ":" if end == subscript.size else f":{end}")
        if number is None:
            axes.append(place)
    text = array.code if set(parts) <= {":"} else f"{array.code}[{', '.join(parts)}]"
    return dataclasses.replace(array, code=text, dims=tuple(axes))


def indexed(code, array, subscripts):
    """The array, whose axes have the places of subscripts, at those that are no slices."""
    rest = [subscripts[place] for place in array.dims]
    chosen = [subscript for subscript in rest if not subscript.is_slice]
    kept = [subscript.value.dims[0] for subscript in rest if subscript.is_slice]
    if not chosen:
        return dataclasses.replace(array, dims=tuple(kept))
    dims = code.union([subscript.value for subscript in chosen])
    parts = [":" if subscript.is_slice else inside(code, subscript, dims) for subscript in rest]
    order = (*kept[:(at := first_place(rest))], *dims, *kept[at:])
    return code.keep(f"{array.code}[{', '.join(parts)}]", order, array.type,
                     [array, *(subscript.value for subscript in chosen)], half=array.half,
                     infinite=array.infinite, small=array.small)


def inside(code, subscript, dims):
    """The code of a subscript with the axes `dims`, brought inside where it may not be."""
    index = code.aligned(subscript.value, dims)
    return f"{index}.clamp(0, {subscript.size - 1})" if subscript.checked else index


def first_place(subscripts):
    """Where PyTorch puts the axes of indices: where they stand, or first if slices are between them."""
    places = [place for place, subscript in enumerate(subscripts) if not subscript.is_slice]
    return places[0] if places[-1] - places[0] == len(places) - 1 else 0
