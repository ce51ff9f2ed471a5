"""Attention in f32; Hsu et al. 2026, ELSA: Exact Linear-Scan Attention."""
import functools

from attnc import errors
from attnc.torch import _attention, _operators


def elsa_attention(q, k, v, *, bias=None, is_causal=False, scale=None):
    """Attention of q [B, H, N, D] to k [B, H, M, D] and v [B, H, M, E], with scores, weights and
    sums in f32 and exact gradients. `bias` broadcasts to [B, H, N, M] and is added to the scores.
    With `is_causal` query i sees keys 0 to i. `scale` is 1/sqrt(D) where it is not given."""
    if bias is None:
        return _operator(is_causal, "")(q, k, v, scale=scale)
    full = (*q.shape[:3], k.shape[2])
    bias = bias.reshape(1) if bias.dim() == 0 else bias
    fits = bias.dim() <= 4 and all(own in (1, extent) for own, extent
                                   in zip(reversed(bias.shape), reversed(full)))
    if not fits or not bias.is_floating_point():
        raise errors.InvalidArgument(
            f"bias is {tuple(bias.shape)} of {bias.dtype}",
            f"it is of reals and broadcasts to {full}; attnc.torch.attention takes masks of bools")
    bias, dims = _attention._mask(bias, q, k, q.shape[:1])
    return _operator(is_causal, dims)(q, k, v, bias, scale=scale)


@functools.lru_cache(maxsize=None)
def _operator(is_causal, bias_dims):
    """Without a bias the specs of the library; `elsa_bias` with a bias of other dims and type."""
    if not bias_dims:
        return _operators.op("elsa_causal" if is_causal else "elsa")
    content, read = _operators.content_of("elsa_bias"), ", ".join(bias_dims)
    content["types"]["B"] = "f32"
    content["inputs"]["bias"] = f"B[{read}]"
    score = f"s + bias[{read}]"
    if is_causal:
        score = f"where(j <= i, {score}, -inf)"
    content["body"][1] = f"p = softmax(j, {score})"
    return _operators.op(content)
