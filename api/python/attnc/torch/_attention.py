"""scaled_dot_product_attention."""
import functools

import torch

from attnc import errors
from attnc.torch import _operators


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
              enable_gqa=False):
    """As torch.nn.functional.scaled_dot_product_attention: query [..., H, Q, D], key [..., Hkv,
    KV, D], value [..., Hkv, KV, E], the result [..., H, Q, E]. `attn_mask` broadcasts to
    [..., H, Q, KV]: of bools, True where a query sees a key, else added to the scores. A query
    that sees no key has the result 0. Dropout is not supported: a spec has rand(seed, ...)."""
    if dropout_p:
        raise errors.InvalidArgument("attention has no dropout: PyTorch's numbers are its own",
                                     "see the spec 'dropout', whose seed is an input")
    if not query.dim() == key.dim() == value.dim() or query.dim() < 2:
        raise errors.InvalidArgument(
            f"query, key and value have {query.dim()}, {key.dim()} and {value.dim()} dims",
            "they are [..., heads, length, head dim]")
    shape = query.shape
    if attn_mask is None and query.dim() == 4 \
            and query.shape[:2] == key.shape[:2] == value.shape[:2]:
        return _operator(False, is_causal, None, "")(query, key, value, scale=scale)
    batch = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3])
    q, k, v = (_four(t, batch) for t in (query, key, value))
    if _is_of_integers(attn_mask):
        raise errors.InvalidArgument(f"attn_mask has elements of type {attn_mask.dtype}",
                                     "it is of bools, or of reals that are added")
    if k.shape[1] == 1 and v.shape[1] == 1:
        enable_gqa = True  # so it broadcasts
    if q.shape[1] != k.shape[1] and (not enable_gqa or q.shape[1] % k.shape[1]):
        raise errors.InvalidArgument(
            f"query has {q.shape[1]} heads and key {k.shape[1]}",
            "enable_gqa=True lets query heads share those of keys, if it is a multiple of these")
    mask, dims = _mask(attn_mask, q, k, batch)
    operator = _operator(q.shape[1] != k.shape[1], is_causal,
                         None if mask is None else mask.dtype == torch.bool, dims)
    result = operator(q, k, v, *([] if mask is None else [mask]), scale=scale)
    return result.reshape(*batch, *shape[-3:-1], value.shape[-1])


def _is_of_integers(mask):
    return mask is not None and mask.dtype != torch.bool and not mask.is_floating_point()


def _four(tensor, batch):
    """[B, H, N, D]: the dims before the heads are one."""
    if tensor.dim() == 2:
        return tensor[None, None]
    return tensor.expand(*batch, *tensor.shape[-3:]).reshape(-1, *tensor.shape[-3:]) \
        if tensor.dim() != 4 or tensor.shape[:1] != batch else tensor


def _mask(mask, q, k, batch):
    """The mask without the dims that it is 1 long in, and the names of the others."""
    if mask is None:
        return None, ""
    if not 1 <= mask.dim() <= max(len(batch) + 3, 4):
        raise errors.InvalidArgument(f"attn_mask has {mask.dim()} dims",
                                     "it broadcasts to [..., heads, queries, keys]")
    if len(batch) > 1 and mask.dim() > 3:
        try:
            mask = mask.expand(*batch, *mask.shape[-3:]).reshape(-1, *mask.shape[-3:])
        except RuntimeError:
            raise errors.InvalidArgument(
                f"attn_mask is {tuple(mask.shape)}",
                f"it broadcasts to {(*batch, *q.shape[1:3], k.shape[2])}") from None
    mask = mask.reshape((1,) * (4 - mask.dim()) + tuple(mask.shape))
    full = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    for extent, own in zip(full, mask.shape):
        if own not in (1, extent):
            raise errors.InvalidArgument(f"attn_mask is {tuple(mask.shape)}",
                                         f"it broadcasts to {full}")
    kept = [n for n, own in enumerate(mask.shape) if own != 1 or n == 3]
    if mask.shape[3] != full[3]:
        mask = mask.expand(*mask.shape[:3], full[3])
    return mask.reshape([mask.shape[n] for n in kept]), "".join("bhij"[n] for n in kept)


def capped_attention(query, key, value, mask, is_causal, scale, cap=None, sink=None):
    """As `attention` of four dims, whose key heads may be fewer; with `cap`, scores s are
    cap * tanh(s / cap), and with `sink` [H] each query divides by exp(sink) too."""
    mask, dims = _mask(mask, query, key, query.shape[:1])
    operator = _operator(query.shape[1] != key.shape[1], is_causal,
                         None if mask is None else mask.dtype == torch.bool, dims,
                         cap is not None, sink is not None)
    more = {} if cap is None else {"cap": cap}
    return operator(query, key, value, *(t for t in (mask, sink) if t is not None), scale=scale,
                    **more)


@functools.lru_cache(maxsize=None)
def _operator(grouped, causal, of_bools, mask_dims, capped=False, sinking=False):
    heads = "g" if grouped else "h"
    key_head = "h // n" if grouped else "h"
    inputs = {"q": "T[b, h, i, d]", "k": f"T[b, {heads}, j, d]", "v": f"T[b, {heads}, j, e]"}
    types, params = {"T": "f32"}, {"scale": "f32 = 1/sqrt(size(d))"}
    read = f"mask[{','.join(mask_dims)}]"
    body = [f"s = sum(d, q[b,h,i,d] * k[b,{key_head},j,d]) * scale"]
    score = "s"
    if capped:
        params["cap"] = "f32 > 0"
        score = "cap * tanh(s / cap)"
    if mask_dims:
        inputs["mask"] = f"{'bool' if of_bools else 'M'}[{', '.join(mask_dims)}]"
    if mask_dims and not of_bools:
        types["M"] = "f32"
        score = f"{score} + {read}"
    conditions = ([read] if of_bools else []) + (["j <= i"] if causal else [])
    if conditions:
        score = f"where({' and '.join(conditions)}, {score}, -inf)"
    values = f"v[b,{key_head},j,e]"
    if sinking:
        types["S"] = "f32"
        inputs["sink"] = "S[h]"
        body += [f"t = {score}", "m = maximum(max(j, t), sink[h])", "x = exp(t - m)",
                 f"o[b,h,i,e] = sum(j, x * {values}) / (sum(j, x) + exp(sink[h] - m))"]
    else:
        body += [f"p = softmax(j, {score})", f"o[b,h,i,e] = sum(j, p * {values})"]
    shared = {"let": {"n": "size(h) // size(g)"}, "require": ["size(h) % size(g) == 0"]}
    return _operators.op({
        "attnc": 1, "name": "attention", "doc": "scaled_dot_product_attention", "types": types,
        "dims": {"d": 64, "e": 64}, "params": params, "inputs": inputs,
        **(shared if grouped else {}), "body": body, "outputs": {"o": "T"}})
