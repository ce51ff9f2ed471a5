"""From a graph of PyTorch's operations to a spec.

Each value of the graph is an expression of the spec's language whose axes are dims. Views change
the axes alone. Where two values meet, their axes become one dim, as far as that is possible: the
two of `x @ x.mT` stay two.
"""
import dataclasses
import math
import re

import torch

_TYPE = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
         torch.int8: "i8", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8",
         torch.bool: "bool"}
# An expression that is longer becomes a statement.
_MOST_TEXT = 300
_DIM = re.compile(r"%(\d+)")


class Untraceable(Exception):
    """What has no expression, and why; and of an operation of ATen, its name."""


@dataclasses.dataclass(frozen=True)
class Value:
    """An expression in which %N stands for dim N, the dims of its axes (None: it does not depend on
    this one, which is 1 long), its element type and the extents of its axes."""
    text: str
    axes: tuple
    dtype: torch.dtype
    shape: tuple


class Builder:
    """Makes the spec. Its methods make values and statements."""

    def __init__(self):
        self.inputs = {}      # name: (type, dims)
        self.statements = []
        self.outputs = {}
        self.lets, self.required = {}, []
        self._axes = {}       # of what has a name: its dims
        self._extents = []    # of dims
        self._parents = []    # of dims that are one, as a forest
        self._apart = set()   # pairs of dims that one value has
        self._lengths = set() # dims whose extent the program is not to be compiled for
        self._computed = {}   # dims that no input has: the text of their extents

    # --- dims ----------------------------------------------------------------------------------

    def dim(self, extent, like=None):
        """A new dim; one `like` another has its extent, whatever that is."""
        self._extents.append(extent)
        self._parents.append(len(self._parents))
        number = len(self._parents) - 1
        self._computed[number] = f"size(%{like})" if like is not None else extent
        return number

    def _root(self, dim):
        while self._parents[dim] != dim:
            dim = self._parents[dim]
        return dim

    def unite(self, x, y):
        """Makes one of two dims, unless a value has both."""
        x, y = self._root(x), self._root(y)
        if x == y or self._extents[x] != self._extents[y] or (min(x, y), max(x, y)) in self._apart:
            return
        x, y = min(x, y), max(x, y)
        self._parents[y] = x
        self._apart = {tuple(sorted((self._root(a), self._root(b)))) for a, b in self._apart}
        if y in self._lengths:
            self._lengths.add(x)
        if x not in self._computed or y not in self._computed:  # an input has it
            self._computed.pop(x, None)
            self._computed.pop(y, None)

    def is_length(self, dim):
        """Notes that the extent of a dim may be another one in the next call."""
        self._lengths.add(self._root(dim))

    # --- values --------------------------------------------------------------------------------

    def value(self, text, axes, dtype, shape):
        axes = tuple(axes)
        self._separate(axes)
        return Value(text, axes, dtype, tuple(shape))

    def _separate(self, axes):
        own = [self._root(a) for a in axes if a is not None]
        for n, x in enumerate(own):
            for y in own[:n]:
                assert x != y, "two axes of a value have one dim"
                self._apart.add((min(x, y), max(x, y)))

    def input(self, name, dtype, shape):
        """An input of the spec. Its last axis, if it has others, is compiled for."""
        if dtype not in _TYPE:
            raise Untraceable(f"{name} has elements of type {dtype}, which attnc has not")
        axes = [self.dim(extent) for extent in shape]
        for axis in axes:
            del self._computed[axis]
        for n, (axis, extent) in enumerate(zip(axes, shape)):
            if extent != 1 and (n + 1 < len(shape) or len(shape) == 1):
                self.is_length(axis)
        self.inputs[name], self._axes[name] = (_TYPE[dtype], axes), axes
        text = f"{name}[{', '.join('0' if e == 1 else f'%{a}' for a, e in zip(axes, shape))}]" \
            if axes else name
        return self.value(text, [None if e == 1 else a for a, e in zip(axes, shape)], dtype, shape)

    def statement(self, value, text=None):
        """The value as a statement of its own, which `text` computes."""
        name = f"t{len(self.statements)}"
        own = self._axes[name] = self._needed(value)
        shown = f"{name}[{', '.join(f'%{a}' for a in own)}]" if own else name
        self.statements.append((shown, text or value.text))
        return dataclasses.replace(value, text=shown)

    def _needed(self, value):
        """The axes that a value depends on."""
        there = {self._root(int(n)) for n in _DIM.findall(value.text)}
        return [a for a in value.axes if a is not None and self._root(a) in there]

    def output(self, name, value):
        """An output, with the axes that it depends on. Where these are not all, returns the shape
        that it has with axes of 1 for the others, else None."""
        axes = self._needed(value)
        own = f"[{', '.join(f'%{a}' for a in axes)}]" if axes else ""
        self.statements.append((name + own, value.text))
        if value.dtype not in _TYPE:
            raise Untraceable(f"a result has elements of type {value.dtype}, which attnc has not")
        self.outputs[name] = _TYPE[value.dtype]
        if len(axes) == len(value.axes):
            return None
        return tuple(e if a in axes else 1 for a, e in zip(value.axes, value.shape))

    def at(self, value, indices):
        """The text of a value at other indices: texts by dim, all at once."""
        roots = {self._root(dim): text for dim, text in indices.items()}
        return _DIM.sub(lambda m: roots.get(self._root(int(m[1])), m[0]), value.text)

    def moved(self, value, axes):
        """The value with other dims for its axes."""
        changed = {old: f"%{new}" for old, new in zip(value.axes, axes)
                   if old is not None and new is not None and old != new}
        return dataclasses.replace(value, text=self.at(value, changed) if changed else value.text,
                                   axes=tuple(axes))

    def meet(self, values):
        """Values of one shape, by PyTorch's rules of broadcasting: with the same dims for the same
        axes, and these."""
        rank = max(len(v.axes) for v in values)
        padded = [dataclasses.replace(v, axes=(None,) * (rank - len(v.axes)) + v.axes,
                                      shape=(1,) * (rank - len(v.shape)) + v.shape)
                  for v in values]
        axes = []
        for n in range(rank):
            there = [v.axes[n] for v in padded if v.axes[n] is not None]
            axes.append(there[0] if there else None)
        axes = self.distinct(axes)
        self._separate(axes)
        for v in padded:
            for own, axis in zip(v.axes, axes):
                if own is not None:
                    self.unite(own, axis)
        shape = [next((e for e in extents if e != 1), 1)
                 for extents in zip(*(v.shape for v in padded))]
        return [self.moved(v, [None if own is None else axis for own, axis in zip(v.axes, axes)])
                for v in padded], axes, shape

    def distinct(self, axes):
        """The axes with a new dim in place of one that is there already."""
        seen, result = set(), []
        for axis in axes:
            if axis is not None and self._root(axis) in seen:
                axis = self._like(axis)
            if axis is not None:
                seen.add(self._root(axis))
            result.append(axis)
        return result

    def _like(self, dim):
        new = self.dim(self._extents[self._root(dim)], like=dim)
        if self._root(dim) in self._lengths:
            self.is_length(new)
        return new

    def shared(self, dim, extent):
        """A dim of `extent`, a multiple of that of another whose indices its own share, and the
        text of the index of the other."""
        new = self.dim(extent)
        if self._root(dim) in self._lengths:
            self.is_length(new)
        group = f"g{len(self.lets)}"
        self.lets[group] = f"size(%{new}) // size(%{dim})"
        self.required.append(f"size(%{new}) % size(%{dim}) == 0")
        return new, f"%{new} // {group}"

    def sum_of_product(self, values, letters, result):
        """einsum: the dims of each value by letters, and the letters of the result."""
        dims = {}
        for value, own in zip(values, letters):
            for letter, axis in zip(own, value.axes):
                if axis is None:
                    continue
                if letter not in dims:
                    taken = {self._root(d) for d in dims.values()}
                    dims[letter] = self._like(axis) if self._root(axis) in taken else axis
                    self._separate(dims.values())
                self.unite(axis, dims[letter])
        texts = [_factor(self.moved(v, [None if a is None else dims[c]
                                        for a, c in zip(v.axes, own)]).text)
                 for v, own in zip(values, letters)]
        extents = {c: e for v, own in zip(values, letters) for c, e in zip(own, v.shape)
                   if e != 1 or c not in dims}
        summed = [c for c in dict.fromkeys("".join(letters)) if c not in result]
        text = " * ".join(texts)
        count = math.prod(extents[c] for c in summed if c not in dims)
        kept = [dims[c] for c in summed if c in dims]
        if kept:
            text = f"sum({_dims(kept)}, {text})"
        assert count == 1
        dtype = values[0].dtype
        for v in values[1:]:
            dtype = torch.promote_types(dtype, v.dtype)
        return self.value(text, [dims.get(c) for c in result], dtype, [extents[c] for c in result])

    def _guarded(self, text):
        """Reads at indices that may be outside, with what they are there: 0."""
        made, at = "", 0
        while (read := _READ.search(text, at)) is not None:
            end, depth = read.end(), 1
            while depth:
                depth += {"[": 1, "]": -1}.get(text[end], 0)
                end += 1
            inside = self._guarded(text[read.end():end - 1])
            whole = f"{read[1]}[{inside}]"
            own = all(self._is(part.strip(), axis)
                      for part, axis in zip(inside.split(","), self._axes[read[1]]))
            made += text[at:read.start()] + (whole if own else f"({whole} else 0)")
            at = end
        return made + text[at:]

    def _is(self, index, dim):
        """True if an index is that of the dim."""
        match = _DIM.fullmatch(index)
        return bool(match) and self._root(int(match[1])) == self._root(dim) or \
            index == "0" and self._extents[self._root(dim)] == 1

    # --- the spec ------------------------------------------------------------------------------

    def spec(self, name, doc):
        """The spec as a dict, as json.load gives one."""
        names = {}

        def named(match):
            root = self._root(int(match[1]))
            return names.setdefault(root, f"n{len(names)}")
        inputs = {n: f"{element}[{', '.join(_DIM.sub(named, f'%{a}') for a in axes)}]" if axes
                  else element for n, (element, axes) in self.inputs.items()}
        body = [f"{_DIM.sub(named, left)} = {_DIM.sub(named, self._guarded(right))}"
                for left, right in self.statements]
        lets = {n: _DIM.sub(named, text) for n, text in self.lets.items()}
        required = [_DIM.sub(named, text) for text in self.required]
        dims = {}
        for root, text in list(names.items()):
            extent = self._computed.get(root)
            if isinstance(extent, str):
                dims[text] = _DIM.sub(named, extent)
            elif extent is not None or root not in self._lengths:
                dims[text] = self._extents[root]
        return {"attnc": 1, "name": name, "doc": doc, "dims": dims, "let": lets,
                "require": required, "inputs": inputs, "body": body, "outputs": dict(self.outputs)}


def _dims(dims):
    return f"%{dims[0]}" if len(dims) == 1 else f"({', '.join(f'%{d}' for d in dims)})"


_READ = re.compile(r"([A-Za-z_]\w*)\[")


def _factor(text):
    return text if re.fullmatch(r"[\w.%]+(\[[^\[\]]*\])?", text) else f"({text})"


def word(name):
    """A name as an identifier of a spec."""
    return re.sub(r"\W", "_", name.strip("<>"))[:48] or "traced"


def constant(value):
    """A number of Python as text."""
    if isinstance(value, bool):
        return "1 == 1" if value else "1 == 0"
    if isinstance(value, float):
        if math.isnan(value):
            raise Untraceable("NaN is no constant of a spec")
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return repr(value)
    return str(value)
