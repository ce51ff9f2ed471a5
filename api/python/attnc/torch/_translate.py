"""PyTorch's operations as expressions: a table of ATen, over the values of `_graph`."""
import dataclasses
import math
import operator

import torch

from attnc.torch import _graph
from attnc.torch._graph import Untraceable, Value, constant

_RULES: dict = {}
_NARROW = (torch.int8, torch.uint8, torch.int16)
_WRAPPING = ("add", "sub", "rsub", "mul", "neg", "pow", "sum", "_to_copy", "to", "floor_divide",
             "div")


def _rule(*names):
    """A function that says what operations of ATen, whatever their overload, are."""
    def register(function):
        for name in names:
            _RULES[name] = function
        return function
    return register


def translate(nodes, known, builder):
    """Says the nodes of a graph in `builder`. `known` has the values of nodes by name; those of
    these are added."""
    context = Context(builder)
    for node in nodes:
        if node.op != "call_function":
            raise Untraceable(f"it has a {node.op}, {node.target}")
        known[node.name] = _apply(context, node, known)


def _apply(context, node, known):
    arguments = torch.fx.node.map_arg(node.args, lambda n: known[n.name])
    named = torch.fx.node.map_arg(node.kwargs, lambda n: known[n.name])
    if node.target is operator.getitem:
        return arguments[0][arguments[1]]
    word = aten_name(node)
    name = f"{node.target.namespace}::{word}" if word else str(node.target)
    rule = _RULES.get(word) if name.startswith("aten::") else None
    if rule is None:
        raise Untraceable(f"there is no expression for {name}", word)
    meta = node.meta.get("val")
    context.name = word
    context.shape = tuple(meta.shape) if isinstance(meta, torch.Tensor) else None
    context.dtype = meta.dtype if isinstance(meta, torch.Tensor) else None
    try:
        result = rule(context, *arguments, **named)
    except Untraceable as error:
        raise Untraceable(error.args[0], word) from None
    except TypeError as error:
        raise Untraceable(f"{name} with these arguments: {error}", word) from None
    if isinstance(result, Value) and meta is not None:
        if context.dtype in _NARROW and word in _WRAPPING:
            raise Untraceable(f"{name} of {context.dtype}: integers do not wrap at 8 bits here",
                              word)
        if result.shape != context.shape:
            raise Untraceable(f"{name} with these arguments", word)
        result = dataclasses.replace(result, dtype=context.dtype)
        if len(node.users) > 1 and not _is_plain(result) or len(result.text) > _graph._MOST_TEXT:
            result = context.builder.statement(result)
    return result


def aten_name(node):
    schema = getattr(node.target, "_schema", None)
    return schema.name.partition("::")[2] if schema else ""


def _is_plain(value):
    """True of a name with indices: nothing is computed again where it is used twice."""
    return "(" not in value.text and " " not in value.text.replace(", ", ",")


class Context:
    """What a rule knows: the builder, the operation's name, and the shape and dtype of its result
    if that is one tensor."""

    def __init__(self, builder):
        self.builder, self.name, self.shape, self.dtype = builder, "", None, None

    def lift(self, operand):
        return operand if isinstance(operand, Value) else Value(
            constant(operand), (), _dtype_of(operand), ())

    def pointwise(self, template, *operands):
        """`template` with {0}, {1}, ... for operands, which broadcast."""
        values, axes, shape = self.builder.meet([self.lift(o) for o in operands])
        text = template.format(*(_graph.operand(v.text) for v in values))
        return self.builder.value(text, axes, self.dtype, shape)

    def real(self, operand):
        """Conditions as numbers."""
        operand = self.lift(operand)
        if operand.dtype == torch.bool:
            return dataclasses.replace(operand, text=f"where({operand.text}, 1, 0)",
                                       dtype=torch.int64)
        return operand

    def condition(self, operand):
        operand = self.lift(operand)
        if operand.dtype == torch.bool:
            return operand
        return dataclasses.replace(operand, text=f"({operand.text}) != 0", dtype=torch.bool)


def _dtype_of(number):
    if isinstance(number, bool):
        return torch.bool
    return torch.int64 if isinstance(number, int) else torch.float32


# --- of each element ------------------------------------------------------------------------------

_FUNCTIONS = {"exp": "exp({0})", "exp2": "exp2({0})", "log": "log({0})", "log2": "log2({0})",
              "sqrt": "sqrt({0})", "rsqrt": "rsqrt({0})", "tanh": "tanh({0})", "erf": "erf({0})",
              "sigmoid": "sigmoid({0})", "silu": "silu({0})", "relu": "relu({0})",
              "abs": "abs({0})", "neg": "-{0}", "reciprocal": "1 / {0}", "floor": "floor({0})",
              "square": "{0} * {0}"}
for _name, _template in _FUNCTIONS.items():
    _rule(_name)(lambda c, x, template=_template: c.pointwise(template, c.real(x)))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    _rule(_name)(lambda c, x, y, sign=_sign: c.pointwise(f"{{0}} {sign} {{1}}", c.real(x),
                                                         c.real(y)))
for _name, _template, _of_bools in (
        ("mul", "{0} * {1}", "and"), ("maximum", "maximum({0}, {1})", "or"),
        ("minimum", "minimum({0}, {1})", "and")):
    _rule(_name)(lambda c, x, y, template=_template, word=_of_bools: c.pointwise(
        template, c.real(x), c.real(y)) if c.dtype != torch.bool else c.pointwise(
            f"{{0}} {word} {{1}}", c.condition(x), c.condition(y)))
for _names, _word in {("logical_and", "bitwise_and", "__and__"): "and",
                      ("logical_or", "bitwise_or", "__or__"): "or"}.items():
    def _both(c, x, y, word=_word):
        if c.dtype != torch.bool:
            raise Untraceable("there are no operations of single bits")
        return c.pointwise(f"{{0}} {word} {{1}}", c.condition(x), c.condition(y))
    _rule(*_names)(_both)


@_rule("logical_xor", "bitwise_xor", "__xor__")
def _xor(c, x, y):
    if c.dtype != torch.bool:
        raise Untraceable("there are no operations of single bits")
    return c.pointwise("({0} and not {1}) or (not {0} and {1})", c.condition(x), c.condition(y))


@_rule("logical_not", "bitwise_not")
def _not(c, x):
    if c.dtype != torch.bool:
        raise Untraceable("there are no operations of single bits")
    return c.pointwise("not {0}", c.condition(x))


@_rule("add")
def _add(c, x, y, alpha=1):
    if c.dtype == torch.bool:
        return c.pointwise("{0} or {1}", c.condition(x), c.condition(y))
    return c.pointwise("{0} + {1}" if alpha == 1 else f"{{0}} + {constant(alpha)} * {{1}}",
                       c.real(x), c.real(y))


@_rule("sub")
def _sub(c, x, y, alpha=1):
    return c.pointwise("{0} - {1}" if alpha == 1 else f"{{0}} - {constant(alpha)} * {{1}}",
                       c.real(x), c.real(y))


@_rule("rsub")
def _rsub(c, x, y, alpha=1):
    return _sub(c, y, x, alpha)


@_rule("div", "true_divide")
def _div(c, x, y, rounding_mode=None):
    if rounding_mode is None:
        return c.pointwise("{0} / {1}", c.real(x), c.real(y))
    if rounding_mode != "floor":
        raise Untraceable("there is no division that is rounded to 0")
    return _floor_divide(c, x, y)


@_rule("floor_divide")
def _floor_divide(c, x, y):
    if c.dtype.is_floating_point:
        return c.pointwise("floor({0} / {1})", c.real(x), c.real(y))
    return c.pointwise("{0} // {1}", c.real(x), c.real(y))


@_rule("remainder")
def _remainder(c, x, y):
    if c.dtype.is_floating_point:
        raise Untraceable("there are only remainders of integers")
    return c.pointwise("{0} % {1}", c.real(x), c.real(y))


@_rule("pow")
def _pow(c, x, y):
    return c.pointwise("{0} ** {1}", c.real(x), c.real(y))


@_rule("gelu")
def _gelu(c, x, approximate="none"):
    if approximate != "none":
        inner = f"{math.sqrt(2 / math.pi)} * ({{0}} + 0.044715 * {{0}} ** 3)"
        return c.pointwise(f"{{0}} / 2 * (1 + tanh({inner}))", x)
    return c.pointwise("gelu({0})", x)


@_rule("clamp", "clamp_min")
def _clamp(c, x, min=None, max=None):
    if min is not None and max is not None:
        return c.pointwise("clamp({0}, {1}, {2})", x, min, max)
    return c.pointwise("maximum({0}, {1})", x, min) if max is None else _clamp_max(c, x, max)


@_rule("clamp_max")
def _clamp_max(c, x, max):
    return c.pointwise("minimum({0}, {1})", x, max)


@_rule("where")
def _where_rule(c, condition, x, y):
    if c.dtype == torch.bool:
        return c.pointwise("where({0}, {1}, {2})", condition, c.condition(x), c.condition(y))
    return c.pointwise("where({0}, {1}, {2})", condition, c.real(x), c.real(y))


@_rule("masked_fill")
def _masked_fill(c, x, mask, value):
    return c.pointwise("where({0}, {2}, {1})", mask, x, value)


@_rule("to", "_to_copy", "type_as")
def _to(c, x, *_, **__):
    if c.dtype == torch.bool:
        return c.condition(x)
    if c.dtype.is_floating_point and not x.dtype.is_floating_point:
        return c.pointwise("cast({0}, f32)", c.real(x))
    if x.dtype.is_floating_point and not c.dtype.is_floating_point:
        raise Untraceable("a real number is not cast to an integer")
    return c.real(x)


@_rule("clone", "contiguous", "detach", "alias", "lift_fresh_copy", "positive")
def _same(c, x, *_, **__):
    return x


@_rule("dropout")
def _dropout(c, x, p, train):
    if train and p > 0:
        raise Untraceable("dropout draws numbers that PyTorch's generator draws otherwise; a spec "
                          "has rand(seed, ...)")
    return x


@_rule("_assert_tensor_metadata", "_assert_async")
def _nothing(c, *_, **__):
    return None


# --- new tensors ----------------------------------------------------------------------------------


@_rule("arange")
def _arange(c, *numbers, dtype=None, **_):
    start, _end, step = (numbers + (1,))[:3] if len(numbers) > 1 else (0, numbers[0], 1)
    if not all(isinstance(n, int) for n in (start, step)):
        raise Untraceable("arange of reals")
    axis = c.builder.dim(c.shape[0])
    text = f"%{axis}" if (start, step) == (0, 1) else f"%{axis} * {step} + {start}"
    return c.builder.value(text if c.shape[0] != 1 else str(start),
                           [axis if c.shape[0] != 1 else None], c.dtype, c.shape)


def _filled(c, value):
    return c.builder.value(constant(value), [None if e == 1 else c.builder.dim(e) for e in c.shape],
                           c.dtype, c.shape)


@_rule("full")
def _full(c, size, value, **_):
    return _filled(c, _typed(c, value))


@_rule("full_like", "scalar_tensor")
def _full_like(c, *given, **_):
    return _filled(c, _typed(c, given[-1]))


@_rule("new_full")
def _new_full(c, x, size, value, **_):
    return _filled(c, _typed(c, value))


@_rule("zeros", "zeros_like", "new_zeros")
def _zeros(c, *_, **__):
    return _filled(c, _typed(c, 0))


@_rule("ones", "ones_like", "new_ones")
def _ones(c, *_, **__):
    return _filled(c, _typed(c, 1))


def _typed(c, value):
    return bool(value) if c.dtype == torch.bool else \
        float(value) if c.dtype.is_floating_point else int(value)


@_rule("triu")
def _triu(c, x, diagonal=0):
    return _triangle(c, x, diagonal, ">=")


@_rule("tril")
def _tril(c, x, diagonal=0):
    return _triangle(c, x, diagonal, "<=")


def _triangle(c, x, diagonal, sign):
    rows, columns = (f"%{a}" if a is not None else "0" for a in x.axes[-2:])
    zero = "1 == 0" if x.dtype == torch.bool else "0"
    return c.builder.value(f"where({columns} - {rows} {sign} {diagonal}, {x.text}, {zero})", x.axes,
                           c.dtype, x.shape)


# --- views ----------------------------------------------------------------------------------------


def _viewed(c, x, axes, shape, text=None):
    return c.builder.value(x.text if text is None else text, axes, x.dtype, shape)


@_rule("permute")
def _permute(c, x, order):
    return _viewed(c, x, [x.axes[n] for n in order], [x.shape[n] for n in order])


@_rule("transpose", "swapaxes", "swapdims")
def _transpose(c, x, first, second):
    order = list(range(len(x.axes)))
    order[first], order[second] = order[second], order[first]
    return _permute(c, x, order)


for _name in ("t", "numpy_T"):
    _rule(_name)(lambda c, x: _permute(c, x, list(range(len(x.axes)))[::-1]))
for _name in ("mT", "mH", "adjoint", "matrix_H"):
    _rule(_name)(lambda c, x: _transpose(c, x, -1, -2))


@_rule("unsqueeze")
def _unsqueeze(c, x, dim):
    at = dim % (len(x.axes) + 1)
    return _viewed(c, x, x.axes[:at] + (None,) + x.axes[at:], x.shape[:at] + (1,) + x.shape[at:])


@_rule("squeeze")
def _squeeze(c, x, dim=None):
    gone = {n % len(x.axes) for n in ([dim] if isinstance(dim, int) else dim)} if dim is not None \
        else set(range(len(x.axes)))
    kept = [n for n in range(len(x.axes)) if n not in gone or x.shape[n] != 1]
    return _viewed(c, x, [x.axes[n] for n in kept], [x.shape[n] for n in kept])


@_rule("expand", "expand_as", "broadcast_to")
def _expand(c, x, *_, **__):
    axes = (None,) * (len(c.shape) - len(x.axes)) + x.axes
    if 0 in c.shape:
        raise Untraceable("a tensor without elements")
    axes = [c.builder.dim(e) if a is None and e != 1 else a for a, e in zip(axes, c.shape)]
    return _viewed(c, x, axes, c.shape)


@_rule("view", "reshape", "_unsafe_view", "flatten", "unflatten", "view_as", "reshape_as")
def _reshape(c, x, *_, **__):
    """Groups of axes with the same number of elements on both sides. An axis that is split stands
    for its parts, and one that is merged does: tensors are seen so, and nothing is computed. In
    what is neither, the old indices are computed from the new ones."""
    axes, indices = [], {}
    for old, new in _groups(x.shape, c.shape):
        real = [(x.axes[n], x.shape[n]) for n in old if x.shape[n] != 1]
        wanted = [c.shape[n] for n in new if c.shape[n] != 1]
        if [e for _, e in real] == wanted:
            made = [a for a, _ in real]
        elif len(real) == 1:
            made = c.builder.split(real[0][0], wanted)
        elif len(wanted) == 1:
            made = [c.builder.merge([a for a, _ in real])]
        else:
            made = None
        if made is None:
            made = [c.builder.dim(e) for e in wanted]
            flat = _graph.flat([f"%{d}" for d in made], wanted)
            indices.update(zip([a for a, _ in real], _graph.divided(flat, [e for _, e in real])))
        left = iter(made)
        axes += [None if c.shape[n] == 1 else next(left) for n in new]
    return _viewed(c, x, axes, c.shape, c.builder.at(x, indices))


def _groups(old, new):
    """The smallest runs of axes, of old and new, that have as many elements."""
    i = j = 0
    while i < len(old) or j < len(new):
        left, right = [i] if i < len(old) else [], [j] if j < len(new) else []
        have = [old[i] if left else 1, new[j] if right else 1]
        i, j = i + len(left), j + len(right)
        while have[0] != have[1]:
            side = 0 if have[0] < have[1] else 1
            if side == 0:
                left.append(i)
                have[0] *= old[i]
                i += 1
            else:
                right.append(j)
                have[1] *= new[j]
                j += 1
        yield left, right


@_rule("repeat_interleave")
def _repeat_interleave(c, x, repeats, dim=None, output_size=None):
    if not isinstance(repeats, int) or dim is None:
        raise Untraceable("repeat_interleave by a number, along one dim")
    return repeated(c, x, repeats, dim)


def repeated(c, x, repeats, dim):
    """Each index along a dim several times, as heads that share those of keys."""
    axes, shape, own = list(x.axes), list(x.shape), x.axes[dim]
    shape[dim] *= repeats
    if own is None:
        axes[dim] = c.builder.dim(repeats) if repeats != 1 else None
        return _viewed(c, x, axes, shape)
    axes[dim], index = c.builder.shared(own, shape[dim])
    return _viewed(c, x, axes, shape, c.builder.at(x, {own: index}))


@_rule("slice")
def _slice(c, x, dim=0, start=None, end=None, step=1):
    axis, extent = x.axes[dim], x.shape[dim]
    if 0 in c.shape:
        raise Untraceable("a tensor without elements")
    if c.shape[dim] == extent:
        return x
    start = 0 if start is None else max(start + extent, 0) if start < 0 else min(start, extent)
    axes = list(x.axes)
    axes[dim] = None if c.shape[dim] == 1 else c.builder.dim(c.shape[dim])
    index = str(start) if axes[dim] is None else \
        f"(%{axes[dim]}{f' * {step}' if step != 1 else ''}{f' + {start}' if start else ''})"
    return _viewed(c, x, axes, c.shape, c.builder.at(x, {axis: index}))


def _part(c, x, dim, start, count):
    c.shape = x.shape[:dim] + (count,) + x.shape[dim + 1:]
    return _slice(c, x, dim, start, start + count)


@_rule("split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split", "unsafe_chunk")
def _split(c, x, sizes, dim=0):
    dim, extent = dim % len(x.axes), x.shape[dim]
    if c.name.endswith("chunk"):
        sizes = -(-extent // sizes)
    elif c.name == "tensor_split":
        raise Untraceable("tensor_split; split and chunk have one")
    if isinstance(sizes, int):
        sizes = [min(sizes, extent - start) for start in range(0, extent, sizes)]
    starts = [sum(sizes[:n]) for n in range(len(sizes))]
    return [_part(c, x, dim, start, count) for start, count in zip(starts, sizes)]


@_rule("unbind")
def _unbind(c, x, dim=0):
    dim %= len(x.axes)
    c.shape = x.shape[:dim] + x.shape[dim + 1:]
    return [_select(c, x, dim, n) for n in range(x.shape[dim])]


@_rule("cat", "concat", "concatenate")
def _cat(c, tensors, dim=0):
    dim %= len(c.shape)
    whole, parts, ends = c.builder.dim(c.shape[dim]), [], []
    for x in tensors:
        start = ends[-1] if ends else 0
        ends.append(start + x.shape[dim])
        index = f"(%{whole} - {start})" if start else f"(%{whole})"
        text = x.text if x.axes[dim] is None else c.builder.at(x, {x.axes[dim]: index})
        parts.append(dataclasses.replace(x, text=text, axes=_without(x.axes, dim),
                                         shape=x.shape[:dim] + (1,) + x.shape[dim + 1:]))
    values, axes, _ = c.builder.meet(parts)
    text = values[-1].text
    for value, end in reversed(list(zip(values[:-1], ends))):
        text = f"where(%{whole} < {end}, {value.text}, {text})"
    return c.builder.value(text, [whole if n == dim else a for n, a in enumerate(axes)], c.dtype,
                           c.shape)


def _without(axes, dim):
    return axes[:dim] + (None,) + axes[dim + 1:]


@_rule("stack")
def _stack(c, tensors, dim=0):
    return _cat(c, [_unsqueeze(c, x, dim % len(c.shape)) for x in tensors], dim)


@_rule("flip")
def _flip(c, x, dims):
    at = {x.axes[n]: f"({x.shape[n] - 1} - %{x.axes[n]})" for n in dims if x.axes[n] is not None}
    return _viewed(c, x, x.axes, x.shape, c.builder.at(x, at))


@_rule("index_select")
def _index_select(c, x, dim, index):
    dim %= len(x.axes)
    order = [dim, *(n for n in range(len(x.axes)) if n != dim)]
    rows = _index(c, _permute(c, x, order), [index])
    back = [order.index(n) for n in range(len(order))]
    return _permute(c, rows, back)


@_rule("embedding")
def _embedding(c, weight, index, *_, **__):
    return _index(c, weight, [index])


@_rule("select")
def _select(c, x, dim, index):
    dim %= len(x.axes)
    axes = x.axes[:dim] + x.axes[dim + 1:]
    at = {} if x.axes[dim] is None else {x.axes[dim]: str(index % x.shape[dim])}
    return _viewed(c, x, axes, c.shape, c.builder.at(x, at))


@_rule("index")
def _index(c, x, indices):
    """x[i, j, ...], the indices first and of one shape; where one is outside, attnc reads 0."""
    if any(i is None for i in indices):
        raise Untraceable("an index with a whole dim before others")
    if any(i.dtype == torch.bool for i in indices):
        raise Untraceable("the number of elements that a mask chooses is not known")
    values, axes, shape = c.builder.meet(list(indices))
    rest = x.axes[len(values):]
    # What is left of x keeps its dims where the indices do not have them.
    all_axes = c.builder.distinct([*axes, *rest])
    at = {}
    for own, value in zip(x.axes, values):
        if own is not None:
            plain = _graph._DIM.fullmatch(value.text)
            if plain:
                c.builder.unite(own, int(plain[1]))
            at[own] = value.text if plain else f"({value.text})"
    at.update({old: f"%{new}" for old, new in zip(rest, all_axes[len(axes):])
               if old is not None and old != new})
    return _viewed(c, x, all_axes, [*shape, *x.shape[len(values):]], c.builder.at(x, at))


# --- folds ----------------------------------------------------------------------------------------


def _check_varies(c, x, axes):
    there = {leaf for n in _graph.dims_in(x.text) for leaf in c.builder.leaves(n)}
    if any(there.isdisjoint(c.builder.leaves(a)) for a in axes):
        raise Untraceable("it reduces an axis along which all elements are the same one, expanded")


def _folded(c, word, x, dim, keepdim=False):
    """A reduction over dims; `dim` None or () is all of them."""
    rank = len(x.axes)
    gone = {n % rank for n in ([dim] if isinstance(dim, int) else dim)} if dim not in (None, []) \
        else set(range(rank))
    over = [x.axes[n] for n in sorted(gone) if x.axes[n] is not None]
    _check_varies(c, x, over)
    if x.dtype == torch.bool:
        raise Untraceable(f"a {word} of conditions")
    axes = [None if n in gone else x.axes[n] for n in range(rank) if keepdim or n not in gone]
    text = f"{word}({_graph.dim_list(over)}, {x.text})" if over else \
        f"({x.text})" if word != "logsumexp" else x.text
    return c.builder.statement(c.builder.value(text, axes, c.dtype, c.shape))


@_rule("sum")
def _sum(c, x, dim=None, keepdim=False, dtype=None):
    return _folded(c, "sum", c.real(x), dim, keepdim)


@_rule("mean")
def _mean(c, x, dim=None, keepdim=False, dtype=None):
    return _folded(c, "mean", x, dim, keepdim)


@_rule("amax")
def _amax(c, x, dim=(), keepdim=False):
    return _folded(c, "max", x, list(dim) if not isinstance(dim, int) else dim, keepdim)


@_rule("amin")
def _amin(c, x, dim=(), keepdim=False):
    return _folded(c, "min", x, list(dim) if not isinstance(dim, int) else dim, keepdim)


@_rule("logsumexp")
def _logsumexp(c, x, dim, keepdim=False):
    return _folded(c, "logsumexp", x, dim, keepdim)


@_rule("softmax", "_softmax", "_safe_softmax")
def _softmax(c, x, dim, *_, **__):
    axis = x.axes[dim]
    if axis is None:
        return c.pointwise("where({0} == -inf, 0, 1)", x)
    _check_varies(c, x, [axis])
    text = f"softmax({_graph.dim_list([axis])}, {x.text})"
    return c.builder.statement(c.builder.value(text, x.axes, c.dtype, x.shape))


@_rule("log_softmax", "_log_softmax")
def _log_softmax(c, x, dim, *_, **__):
    axis = x.axes[dim]
    if axis is None:
        return c.pointwise("where({0} == -inf, {0}, 0)", x)
    _check_varies(c, x, [axis])
    x = c.builder.statement(x) if not _is_plain(x) else x
    text = f"{x.text} - logsumexp({_graph.dim_list([axis])}, {x.text})"
    return c.builder.value(text, x.axes, c.dtype, x.shape)


def contracted(c, values, letters, result):
    made = c.builder.sum_of_product([c.real(v) for v in values], letters, result)
    return c.builder.statement(made) if "sum(" in made.text else made


@_rule("matmul", "bmm", "mm")
def _matmul(c, x, y):
    if len(x.axes) < 2 or len(y.axes) < 2:
        batch = "".join(chr(97 + n) for n in range(max(len(x.axes), len(y.axes)) - 2))
        left = "k" if len(x.axes) == 1 else "abcdefgh"[:len(x.axes) - 2] + "ik"
        right = "k" if len(y.axes) == 1 else "abcdefgh"[:len(y.axes) - 2] + "kj"
        return contracted(c, [x, y], [left, right],
                           batch + ("i" if "i" in left else "") + ("j" if "j" in right else ""))
    rank = max(len(x.axes), len(y.axes)) - 2
    batch = "abcdefgh"[:rank]
    return contracted(c, [x, y], [batch[rank - len(x.axes) + 2:] + "ik",
                                   batch[rank - len(y.axes) + 2:] + "kj"], batch + "ij")


@_rule("linear")
def _linear(c, x, weight, bias=None):
    batch = "abcdefgh"[:len(x.axes) - 1]
    made = contracted(c, [x, weight], [batch + "k", "jk"], batch + "j")
    return made if bias is None else c.pointwise("{0} + {1}", made, bias)


@_rule("baddbmm")
def _baddbmm(c, added, x, y, beta=1, alpha=1):
    made = contracted(c, [x, y], ["aik", "akj"], "aij")
    return c.pointwise(f"{constant(beta)} * {{0}} + {constant(alpha)} * {{1}}", added, made)


@_rule("einsum")
def _einsum(c, equation, operands, path=None):
    equation = equation.replace(" ", "")
    if "." in equation or "->" not in equation:
        raise Untraceable("einsum without '...', and with '->'")
    left, result = equation.split("->")
    letters = left.split(",")
    if any(len(set(own)) != len(own) for own in letters):
        raise Untraceable("einsum of a diagonal")
    return contracted(c, operands, letters, result)


@_rule("scaled_dot_product_attention")
def _attention(c, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
               enable_gqa=False):
    if dropout_p:
        raise Untraceable("dropout draws numbers that PyTorch's generator draws otherwise")
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        group = q.shape[-3] // k.shape[-3]
        k, v = (repeated(c, x, group, -3) for x in (k, v))
    batch = "abcdefgh"[:len(q.axes) - 2]
    scores = contracted(c, [q, k], [batch + "ik", batch + "jk"], batch + "ij")
    c.dtype = q.dtype
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    scores = c.pointwise(f"{{0}} * {constant(factor)}", scores)
    if attn_mask is not None:
        scores = c.pointwise("where({1}, {0}, -inf)" if attn_mask.dtype == torch.bool
                             else "{0} + {1}", scores, attn_mask)
    if is_causal:
        row, column = (f"%{a}" if a is not None else "0" for a in scores.axes[-2:])
        scores = dataclasses.replace(scores, text=f"where({column} <= {row}, {scores.text}, -inf)")
    weights = _softmax(c, scores, -1)
    return contracted(c, [weights, v], [batch + "ij", batch + "jk"], batch + "ik")
