"""flex_attention: functions of scores and of masks, as in torch.nn.attention.flex_attention."""
import dataclasses
import math

import torch

from attnc import errors
from attnc.torch import _capture, _graph, _operators, _record, _translate

# By all that a spec depends on but some extents: the numbers of those captured tensors whose
# extents are in the spec, and the cases by these.
_cases: dict = {}
_MOST_CASES = 512


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None,
                   enable_gqa=False, kernel_options=None, *, mask_mod=None, return_lse=False):
    """As torch.nn.attention.flex_attention.flex_attention, with the scores' function in the
    kernel. query is [B, H, Q, D], key [B, Hkv, KV, D], value [B, Hkv, KV, E], the result
    [B, H, Q, E], with return_lse=True and the logarithms f32[B, H, Q] of the sums of exponentials.

    `score_mod(score, b, h, q_idx, kv_idx)` and `mask_mod(b, h, q_idx, kv_idx)` are traced:
    arithmetic, torch.where, comparisons, functions of one number, and reads of captured tensors,
    whose gradients are computed if they require one. Of a `block_mask` its mask_mod counts: which
    tiles it leaves, attnc finds by itself. An index outside of a captured tensor reads 0.
    `kernel_options`, which are of PyTorch's kernels, are ignored. A query that sees no key has the
    result 0.
    """
    mask_mod = _mask_of(block_mask, mask_mod)
    case, captured = _case(query, key, value, score_mod, mask_mod, scale, enable_gqa, return_lse)
    operator, takes, lacks_axes = case
    results = operator(query, key, value, *(captured[n] if view is None
                                            else captured[n].reshape(view) for n, view in takes))
    if not lacks_axes:
        return results
    # Axes of 1 are not the program's.
    shapes = ((*query.shape[:3], value.shape[3]), query.shape[:3])
    if not return_lse:
        return results.reshape(shapes[0])
    return tuple(r.reshape(shape) for r, shape in zip(results, shapes))


def _mask_of(block_mask, mask_mod):
    if block_mask is None:
        return mask_mod
    if mask_mod is not None:
        raise errors.InvalidArgument("both block_mask and mask_mod are given", "pass one of them")
    function = getattr(block_mask, "mask_mod", None)
    if function is None or getattr(function, "__name__", "") == "noop_mask" \
            and block_mask.sparsity() > 0:
        raise errors.InvalidArgument(
            "block_mask has blocks and no mask_mod: attnc reads the function, not the blocks",
            "make it with create_block_mask, or pass mask_mod")
    return None if function.__name__ == "noop_mask" else function


def _case(query, key, value, score_mod, mask_mod, scale, enable_gqa, return_lse):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise errors.InvalidArgument(f"{name} has {tensor.dim()} dims",
                                         "it is [batch, heads, length, head dim]")
    if key.shape[:3] != value.shape[:3] or query.shape[0] != key.shape[0] \
            or query.shape[3] != key.shape[3]:
        raise errors.InvalidArgument(
            f"query is {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)}",
            "they are [B, H, Q, D], [B, Hkv, KV, D] and [B, Hkv, KV, E]")
    heads, kv_heads = query.shape[1], key.shape[1]
    if heads != kv_heads and (not enable_gqa or heads % kv_heads):
        raise errors.InvalidArgument(
            f"query has {heads} heads and key {kv_heads}",
            "enable_gqa=True lets query heads share those of keys, if it is a multiple of these")
    environment, captured = _capture.environment(score_mod, mask_mod)
    pattern = _pattern([*query.shape[:3], *key.shape[:3], *value.shape[:3],
                        *(extent for t in captured for extent in t.shape)])
    wanted = tuple(torch.is_grad_enabled() and t.requires_grad
                   for t in (query, key, value, *captured))
    found = (environment, pattern, wanted, query.shape[3], value.shape[3], query.dtype, key.dtype,
             value.dtype, query.device, scale, heads // kv_heads, return_lse,
             tuple(t.dim() for t in captured))
    fixed, cases = _cases.get(found, ((), {}))
    case = cases.get(tuple(captured[n].shape for n in fixed))
    if case is None:
        name = _capture.name_of(score_mod or mask_mod or flex_attention)
        case, fixed = _traced(query, key, value, score_mod, mask_mod, scale, return_lse, captured,
                              wanted, name)
        if len(_cases) >= _MOST_CASES:
            del _cases[next(iter(_cases))]
        # The same functions do the same with other tensors: these are fixed again.
        _cases.setdefault(found, (fixed, cases))[1][tuple(captured[n].shape for n in fixed)] = case
    return case, captured


def _pattern(extents):
    """Which extents are equal, and which are 1: all that a spec says of lengths."""
    first = {}
    return tuple(1 if e == 1 else -first.setdefault(e, len(first)) for e in extents)


def _traced(query, key, value, score_mod, mask_mod, scale, return_lse, captured, wanted, name):
    builder = _graph.Builder()
    q, k, v = (builder.input(n, t.dtype, t.shape)
               for n, t in (("q", query), ("k", key), ("v", value)))
    group = query.shape[1] // key.shape[1]
    context = _translate.Context(builder)
    if group > 1:
        k, v = (_translate.repeated(context, x, group, 1) for x in (k, v))
    context.dtype, context.shape = torch.float32, (*query.shape[:3], key.shape[2])
    scores = _translate.contracted(context, [q, k], ["bhid", "bhjd"], "bhij")
    factor = scale if scale is not None else 1 / math.sqrt(query.shape[3])
    scores = context.pointwise(f"{{0}} * {_graph.constant(float(factor))}", scores)
    numbers, fixed, held_values = [], set(), {}

    def add(number):
        numbers.append(number)
        return f"x{number}"
    for function, of_scores in ((score_mod, True), (mask_mod, False)):
        if function is None:
            continue
        changed = _applied(builder, function, scores, captured, add, held_values, fixed, of_scores,
                           name)
        scores = changed if of_scores else context.pointwise("where({1}, {0}, -inf)", scores,
                                                             changed)
    if len(scores.text) > 80:
        scores = builder.statement(scores)
    column = scores.axes[3]
    if column is None:
        weights = context.pointwise("where({0} > -inf, 1, 0)", scores)
    else:
        text = f"softmax({{%{column}}}, {scores.text})"
        weights = builder.statement(builder.value(text, scores.axes, torch.float32, scores.shape))
    context.shape = (*query.shape[:3], value.shape[3])
    result = _translate.contracted(context, [weights, v], ["bhij", "bhjd"], "bhid")
    builder.output("o", dataclasses.replace(result, dtype=query.dtype))
    if return_lse:
        text = scores.text if column is None else f"logsumexp({{%{column}}}, {scores.text})"
        builder.output("lse", _graph.Value(text, scores.axes[:3], torch.float32,
                                           scores.shape[:3]))
    grad = [n for n, own in zip(("q", "k", "v"), wanted) if own] \
        + [f"x{n}" for n in numbers if wanted[3 + n]]
    content = builder.spec(_graph.word(name), "Traced from a function of scores")
    lacks_axes = any(builder.seen_as(n) is not None for n in builder.outputs)
    takes = tuple((n, builder.view_of(f"x{n}")) for n in numbers)
    fixed |= {n for n, view in takes if view is not None}
    return (_operators.op(content, grad=tuple(grad)), takes, lacks_axes), tuple(sorted(fixed))


def _exported(function, arguments, name):
    program, held = _capture.export(function, arguments, name)
    return program.graph, held


def _applied(builder, function, scores, captured, add, held_values, fixed, of_scores, name):
    """What a function of scores, or of masks, gives for all of them at once: its indices have an
    axis each, and broadcast. The numbers of captured tensors with which more is done than to read
    them at indices are added to `fixed`."""
    device = captured[0].device if captured else torch.device("cpu")
    indices = []
    for n, extent in enumerate(scores.shape):
        shape = [1] * 4
        shape[n] = extent
        indices.append(torch.zeros((), dtype=torch.int64, device=device).expand(shape))
    score = torch.zeros((), dtype=torch.float32, device=device).expand(scores.shape)
    given = [score, *indices] if of_scores else indices
    graph, held = _record.record(function, given) or _exported(function, given, name)
    try:
        values = _capture.hold(builder, held, captured, add, held_values)
    except _graph.Untraceable as error:
        raise _capture.refused(function, given, name, error) from None
    by_value = {id(value): number for number, value in held_values.items()}
    for node in graph.nodes:
        number = by_value.get(id(values.get(node.name)))
        if number is not None and any(_translate.aten_name(user) != "index" or node in user.args[1]
                                      for user in node.users):
            fixed.add(number)
    places = [n for n in graph.nodes if n.op == "placeholder" and n.name not in held]
    index_values = [_graph.Value("0" if axis is None else f"%{axis}",
                                 tuple(axis if m == n else None for m in range(4)), torch.int64,
                                 tuple(extent if m == n else 1 for m in range(4)))
                    for n, (axis, extent) in enumerate(zip(scores.axes, scores.shape))]
    for node, own in zip(places, ([scores] if of_scores else []) + index_values):
        values[node.name] = own
    nodes = [n for n in graph.nodes if n.op == "call_function"]
    try:
        _translate.translate(nodes, values, builder)
    except _graph.Untraceable as error:
        raise _capture.refused(function, given, name, error) from None
    result = graph.find_nodes(op="output")[0].args[0][0]
    if not isinstance(result, torch.fx.Node):
        raise errors.InvalidArgument(f"{name} returns {result!r}, which is no tensor",
                                     "return a tensor that is computed from the arguments")
    value = values[result.name]
    (_, value), _, _ = builder.meet([scores, value])
    return _graph.Value(value.text, scores.axes, torch.float32 if of_scores else torch.bool,
                        scores.shape)
