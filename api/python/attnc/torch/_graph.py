"""From a graph of PyTorch's operations to a spec.

Each value of the graph is an expression of the spec's language whose axes are dims. Views change
the axes alone. Where two values meet, their axes become one dim, as far as that is possible: the
two of `x @ x.mT` stay two.
"""
import dataclasses
import math
import re

import torch

TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
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
        self.inputs = {}       # name: (type, dims)
        self.outputs = {}      # name: (type, value, the axes that it has)
        self.lets, self.required = {}, []
        self._statements = []  # left and right sides
        self._axes = {}        # of what has a name: its dims
        self._extents = []     # of dims
        self._parents = []     # of dims that are one, as a forest
        self._parts = {}       # of dims that stand for several, the last one fastest: these
        self._apart = set()    # pairs of dims that one value has
        self._rows = []        # the first dims of matrices
        self._lengths = set()  # dims whose extent the program is not to be compiled for
        self._computed = {}    # dims that no input has: the text of their extents

    # --- dims ----------------------------------------------------------------------------------

    def dim(self, extent, like=None):
        """A new dim; one `like` another has its extent, whatever that is."""
        self._extents.append(extent)
        self._parents.append(len(self._parents))
        number = len(self._parents) - 1
        self._computed[number] = f"size(%{like})" if like is not None else extent
        if like is not None and self._root(like) in self._lengths:
            self._lengths.add(number)
        return number

    def _root(self, dim):
        while self._parents[dim] != dim:
            dim = self._parents[dim]
        return dim

    def leaves(self, dim):
        """The dims that a dim stands for: itself, or its parts and theirs."""
        root = self._root(dim)
        return [leaf for part in self._parts.get(root, ()) for leaf in self.leaves(part)] or [root]

    def _are_apart(self, x, y):
        return (min(x, y), max(x, y)) in self._apart

    def _separate(self, axes):
        """Notes that one value has these dims: no two of them ever become one."""
        own = [leaf for a in axes if a is not None for leaf in self.leaves(a)]
        own += [self._root(a) for a in axes if a is not None and self._root(a) in self._parts]
        for n, x in enumerate(own):
            for y in own[:n]:
                assert x != y, "two axes of a value have one dim"
                self._apart.add((min(x, y), max(x, y)))

    def unite(self, x, y):
        """Makes one of two dims, unless a value has both."""
        x, y = self._root(x), self._root(y)
        if x == y or self._extents[x] != self._extents[y]:
            return
        first, second = self.leaves(x), self.leaves(y)
        if len(first) > 1 and len(second) > 1:
            if [self._extents[a] for a in first] != [self._extents[a] for a in second]:
                return
            pairs = list(zip(first, second))
        else:
            pairs = [(a, b) for a in first for b in second]
        if any(a != b and self._are_apart(a, b) for a, b in pairs) or self._are_apart(x, y):
            return
        if len(first) > 1 and len(second) > 1:
            for a, b in pairs:
                if a != b:
                    self._join(a, b)
        self._join(x, y)

    def _join(self, x, y):
        x, y = min(x, y), max(x, y)
        parts = self._parts.get(x) or self._parts.pop(y, None)
        whole = y if x in self._parts else x
        if parts and not (x in self._parts and y in self._parts):
            # What had been apart from the whole is apart from its parts.
            others = [a if b == whole else b for a, b in self._apart if whole in (a, b)]
            leaves = [leaf for part in parts for leaf in self.leaves(part)]
            self._apart |= {(min(a, b), max(a, b)) for a in leaves for b in others if a != b}
        self._parts.pop(y, None)
        self._parents[y] = x
        if parts:
            self._parts[x] = parts
        self._apart = {tuple(sorted((self._root(a), self._root(b)))) for a, b in self._apart}
        if y in self._lengths:
            self._lengths.add(x)
        if x not in self._computed or y not in self._computed:  # an input has it
            self._computed.pop(x, None)
            self._computed.pop(y, None)
            for part in self._parts.get(x, ()):
                for leaf in self.leaves(part):
                    self._computed.pop(leaf, None)

    def is_length(self, dim):
        """Notes that the extent of a dim may be another one in the next call."""
        self._lengths.add(self._root(dim))

    def split(self, dim, extents):
        """The dims, of these extents, that a dim stands for; None if it stands for others."""
        root = self._root(dim)
        if root in self._parts:
            leaves = self.leaves(root)
            return leaves if [self._extents[a] for a in leaves] == list(extents) else None
        parts = [self.dim(extent) for extent in extents]
        if root in self._lengths:
            self.is_length(parts[0])
        if root not in self._computed:
            for part in parts:
                del self._computed[part]
        others = [a if b == root else b for a, b in self._apart if root in (a, b)]
        self._apart |= {(min(a, b), max(a, b)) for a in parts for b in others}
        self._parts[root] = tuple(parts)
        self._separate(parts)
        return parts

    def merge(self, dims):
        """A dim that stands for several."""
        leaves = [leaf for dim in dims for leaf in self.leaves(dim)]
        for root in self._parts:
            if self._parents[root] == root and self.leaves(root) == leaves:
                return root
        merged = self.dim(math.prod(self._extents[leaf] for leaf in leaves))
        self._parts[merged] = tuple(leaves)
        return merged

    # --- values --------------------------------------------------------------------------------

    def value(self, text, axes, dtype, shape):
        axes = tuple(axes)
        self._separate(axes)
        return Value(text, axes, dtype, tuple(shape))

    def input(self, name, dtype, shape):
        """An input of the spec. Its last axis, if it has others, is compiled for; of a matrix both
        are where other inputs have more axes: it is one of weights."""
        if dtype not in TYPES:
            raise Untraceable(f"{name} has elements of type {dtype}, which attnc has not")
        if 0 in shape:
            raise Untraceable(f"{name} has no elements")
        axes = [self.dim(extent) for extent in shape]
        for axis in axes:
            del self._computed[axis]
        lengths = [a for a, e in zip(axes[:-1] if len(axes) > 1 else axes, shape) if e != 1]
        if len(shape) == 2:
            self._rows += lengths
        else:
            for axis in lengths:
                self.is_length(axis)
        self.inputs[name], self._axes[name] = (TYPES[dtype], axes), axes
        text = f"{name}[{', '.join('0' if e == 1 else f'%{a}' for a, e in zip(axes, shape))}]" \
            if axes else name
        return self.value(text, [None if e == 1 else a for a, e in zip(axes, shape)], dtype, shape)

    def statement(self, value):
        """The value as a statement of its own."""
        name = f"t{len(self._statements)}"
        value = self._whole(value)
        own = self._axes[name] = self._needed(value)
        shown = f"{name}[{', '.join(f'%{a}' for a in own)}]" if own else name
        self._statements.append((shown, value.text))
        return dataclasses.replace(value, text=shown)

    def _needed(self, value):
        """The axes that a value depends on."""
        there = {leaf for n in _DIM.findall(value.text) for leaf in self.leaves(int(n))}
        return [a for a in value.axes if a is not None and not there.isdisjoint(self.leaves(a))]

    def _whole(self, value):
        """The value with a text that depends on all parts of the axes that it depends on."""
        there = {leaf for n in _DIM.findall(value.text) for leaf in self.leaves(int(n))}
        missing = [leaf for a in self._needed(value) for leaf in self.leaves(a)
                   if leaf not in there]
        text = value.text
        for leaf in missing:
            text = f"where(%{leaf} >= 0, {text}, 0)"
        return dataclasses.replace(value, text=text)

    def output(self, name, value):
        """An output, with the axes that it depends on: `seen_as` says more."""
        if value.dtype not in TYPES:
            raise Untraceable(f"a result has elements of type {value.dtype}, which attnc has not")
        value = self._whole(value)
        axes = self._axes[name] = self._needed(value)
        own = f"[{', '.join(f'%{a}' for a in axes)}]" if axes else ""
        self._statements.append((name + own, value.text))
        self.outputs[name] = (TYPES[value.dtype], value, axes)

    def at(self, value, indices):
        """The text of a value at other indices: texts by dim, all at once."""
        known = {}
        for dim, text in indices.items():
            root, leaves, plain = self._root(dim), self.leaves(dim), _DIM.fullmatch(text)
            known[root] = text
            if len(leaves) == 1:
                continue
            extents = [self._extents[leaf] for leaf in leaves]
            parts = self.split(int(plain[1]), extents) if plain else None
            texts = [f"%{part}" for part in parts] if parts else divided(text, extents)
            known.update(zip(leaves, texts))

        def replaced(match):
            root = self._root(int(match[1]))
            if root in known:
                return known[root]
            leaves = self.leaves(root)
            if len(leaves) == 1 or known.keys().isdisjoint(leaves):
                return match[0]
            texts = [known.get(leaf, f"%{leaf}") for leaf in leaves]
            plain = [_DIM.fullmatch(text) for text in texts]
            if all(plain):
                return f"%{self.merge([int(p[1]) for p in plain])}"
            return flat(texts, [self._extents[leaf] for leaf in leaves])
        return _DIM.sub(replaced, value.text)

    def moved(self, value, axes):
        """The value with other dims for its axes."""
        changed = {old: f"%{new}" for old, new in zip(value.axes, axes)
                   if old is not None and new is not None and self._root(old) != self._root(new)}
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
            if axis is not None and not seen.isdisjoint(self.leaves(axis)):
                axis = self.dim(self._extents[self._root(axis)], like=axis)
            if axis is not None:
                seen.update(self.leaves(axis))
            result.append(axis)
        return result

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
        axes = [(letter, axis) for value, own in zip(values, letters)
                for letter, axis in zip(own, value.axes) if axis is not None]
        # A sum is over one dim, also where an axis stands for several: products of matrices are.
        several = [(letter, axis) for letter, axis in axes
                   if letter not in result and len(self.leaves(axis)) > 1]
        for letter, axis in axes:
            if (letter, axis) in several:
                continue
            if letter not in dims:
                dims[letter] = self.distinct([*dims.values(), axis])[-1]
                self._separate(dims.values())
            self.unite(axis, dims[letter])
        for letter, axis in several:
            if letter not in dims:
                dims[letter] = self.dim(self._extents[self._root(axis)])
                self._separate(dims.values())

        def factor(value, own):
            at = {axis: f"(%{dims[letter]})" for letter, axis in zip(own, value.axes)
                  if (letter, axis) in several}
            value = dataclasses.replace(value, text=self.at(value, at)) if at else value
            kept = [None if a is None or a in at else dims[c] for a, c in zip(value.axes, own)]
            return operand(self.moved(value, kept).text)
        texts = [factor(value, own) for value, own in zip(values, letters)]
        extents = {c: 1 for c in "".join(letters)}
        for value, own in zip(values, letters):
            extents.update({c: e for c, e in zip(own, value.shape) if e != 1})
        text = " * ".join(texts)
        kept = [dims[c] for c in dict.fromkeys("".join(letters)) if c not in result and c in dims]
        if kept:
            text = f"sum({dim_list(kept)}, {text})"
        dtype = values[0].dtype
        for v in values[1:]:
            dtype = torch.promote_types(dtype, v.dtype)
        return self.value(text, [dims.get(c) for c in result], dtype, [extents[c] for c in result])

    # --- the spec ------------------------------------------------------------------------------

    def spec(self, name, doc):
        """The spec as a dict, as json.load gives one. Nothing is added after it."""
        if all(len(axes) <= 2 for _, axes in self.inputs.values()):
            for row in self._rows:
                for leaf in self.leaves(row)[:1]:
                    self.is_length(leaf)
        names = {}

        def named(dim):
            return names.setdefault(dim, f"n{len(names)}")
        inputs = {}
        for given, (element, axes) in self.inputs.items():
            own = ", ".join(named(leaf) for a in axes for leaf in self.leaves(a))
            inputs[given] = f"{element}[{own}]"
        body = [f"{self._said(left, named)} = {self._said(right, named)}"
                for left, right in self._statements]
        lets = {n: self._said(text, named) for n, text in self.lets.items()}
        required = [self._said(text, named) for text in self.required]
        dims, lengths = {}, {}
        for dim, shown in list(names.items()):
            extent = self._computed.get(dim)
            if isinstance(extent, str):
                dims[shown] = self._said(extent, named)
            elif extent is not None or dim not in self._lengths:
                dims[shown] = self._extents[dim]
            else:  # what is compared costs are of such lengths; few differ, so few specs do
                lengths[shown] = 1 << max(self._extents[dim] - 1, 0).bit_length()
        return {"attnc": 1, "name": name, "doc": doc, "dims": dims, "let": lets,
                "require": required, "inputs": inputs, "body": body,
                "outputs": {n: element for n, (element, _, _) in self.outputs.items()},
                "reference": {"shape": lengths}}

    def _said(self, text, named):
        """A text with the names of dims, and with what reads at indices that may be outside are
        there: 0."""
        made, at = "", 0
        while (found := _PIECE.search(text, at)) is not None:
            made, end = made + text[at:found.start()], found.end()
            if found[1]:
                parts, end = _subscripts(text, end)
                made += self._read(found[1], parts, named)
            elif found[2]:
                shown = " * ".join(f"size({named(leaf)})" for leaf in self.leaves(int(found[2])))
                made += shown if shown.count("size") == 1 else f"({shown})"
            elif found[3]:
                leaves = [leaf for n in _DIM.findall(found[3]) for leaf in self.leaves(int(n))]
                shown = ", ".join(map(named, leaves))
                made += shown if len(leaves) == 1 else f"({shown})"
            else:
                leaves = self.leaves(int(found[4]))
                made += flat([named(leaf) for leaf in leaves],
                              [self._extents[leaf] for leaf in leaves])
            at = end
        return made + text[at:]

    def _read(self, name, parts, named):
        indices, is_inside = [], True
        for part, axis in zip(parts, self._axes[name], strict=True):
            leaves, plain = self.leaves(axis), _DIM.fullmatch(part)
            if plain and self.leaves(int(plain[1])) == leaves:
                indices += map(named, leaves)
                continue
            is_inside &= part == "0" and self._extents[leaves[0]] == 1 \
                or bool(plain) and self._is_as_long(int(plain[1]), axis)
            text = self._said(part, named)
            indices += divided(text, [self._extents[leaf] for leaf in leaves]) \
                if len(leaves) > 1 else [text]
        read = f"{name}[{', '.join(indices)}]"
        return read if is_inside else f"({read} else 0)"

    def _is_as_long(self, dim, other):
        """True of a dim that was made like another."""
        extent = self._computed.get(self._root(dim)) if len(self.leaves(dim)) == 1 else None
        match = _SIZE.fullmatch(extent) if isinstance(extent, str) else None
        return bool(match) and self._root(int(match[1])) == self._root(other)

    def view_of(self, name):
        """The shape that a program wants an input in, if that is another than the tensor's."""
        axes = self.inputs[name][1]
        shape = tuple(self._extents[leaf] for a in axes for leaf in self.leaves(a))
        return shape if len(shape) != len(axes) else None

    def seen_as(self, name):
        """What is to be done with an output of the program: reshaped, then expanded. None where
        there is nothing to do."""
        _, value, axes = self.outputs[name]
        if len(axes) == len(value.axes) == sum(len(self.leaves(a)) for a in axes):
            return None
        return tuple(e if a in axes else 1 for a, e in zip(value.axes, value.shape)), value.shape


_SIZE = re.compile(r"size\(%(\d+)\)")
# A read up to its bracket, the size of a dim, a list of dims in braces, a dim.
_PIECE = re.compile(r"([A-Za-z_]\w*)\[|size\(%(\d+)\)|\{([^}]*)\}|%(\d+)")


def _subscripts(text, at):
    """The subscripts of a read whose bracket ends before `at`, and where the read ends."""
    parts, start, depth = [], at, 1
    while depth:
        depth += {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}.get(text[at], 0)
        if depth == 0 or depth == 1 and text[at] == ",":
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    return parts, at


def dims_in(text):
    """The dims in a text."""
    return [int(n) for n in _DIM.findall(text)]


def dim_list(dims):
    """Dims that a reduction is over, as `Builder` wants them."""
    return "{" + " ".join(f"%{d}" for d in dims) + "}"


def flat(texts, extents):
    """One index of several."""
    if len(texts) == 1:
        return texts[0]
    stride, terms = 1, []
    for text, extent in reversed(list(zip(texts, extents))):
        text = text if re.fullmatch(r"[%\w]+", text) else f"({text})"
        terms.append(text if stride == 1 else f"{text} * {stride}")
        stride *= extent
    return f"({' + '.join(reversed(terms))})"


def divided(text, extents):
    """Several indices of one."""
    texts, stride, whole = [], math.prod(extents), operand(re.sub(r"^\((%?\w+)\)$", r"\1", text))
    for number, extent in enumerate(extents):
        stride //= extent
        part = f"{whole} // {stride}" if stride != 1 else whole
        texts.append(part if number == 0 else f"{operand(part)} % {extent}")
    return texts


def operand(text):
    """A text as an operand of any operator: in brackets, unless it is a word, a read or a call."""
    start = re.match(r"[\w.%]+([\[(])?", text)
    if start is not None:
        if start.end() == len(text):
            return text
        if start[1] and _subscripts(text, start.end())[1] == len(text):
            return text
    return f"({text})"


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
