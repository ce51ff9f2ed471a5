"""Attention through landmarks, linear in the length; Xiong et al. 2021, Nystromformer."""
import functools

import torch

from attnc import errors
from attnc.torch import _operators


def nystrom_attention(query, key, value, num_landmarks=64, iterations=6, weight=None, *, mask=None,
                      initial="exact"):
    """Attention of query [B, H, Q, D] to key [B, H, KV, D] and value [B, H, KV, E] through
    `num_landmarks` means of segments of queries and of keys, with `iterations` steps towards the
    pseudoinverse of their matrix. The last segment takes what is left of a length that the
    landmarks do not divide. Exact gradients of all of it.

    `weight` [H, W] adds a convolution of the values over W neighbours along the sequence. `mask`
    [B, N] is true, or not 0, where a token counts: no other token's value is seen, and in means it
    is 0, as Nystromformer has it. Both need as many queries as keys. The steps begin with the
    transposed matrix over its largest column sum; of that of each head (`initial="exact"`), or of
    all of the batch ("original", as Nystromformer's code first had it)."""
    if num_landmarks < 1 or iterations < 1:
        raise errors.InvalidArgument(f"{num_landmarks} landmarks and {iterations} steps",
                                     "both are at least 1")
    if initial not in _LARGEST:
        raise errors.InvalidArgument(f"initial is {initial!r}", "one of " + ", ".join(_LARGEST))
    if weight is not None and weight.shape[-1] % 2 == 0:
        raise errors.InvalidArgument(f"the convolution is over {weight.shape[-1]} neighbours",
                                     "choose an odd number: as many before as behind")
    operator = _operator(weight is not None, mask is not None, num_landmarks, iterations, initial)
    if mask is None:
        return operator(query, key, value, *([] if weight is None else [weight]))
    batch, length = query.shape[0], query.shape[2]
    if mask.shape != (batch, length) or key.shape[2] != length:
        raise errors.InvalidArgument(
            f"mask is {tuple(mask.shape)} for {length} queries and {key.shape[2]} keys",
            f"it is [batch, length], ({batch}, {length}), and queries and keys are of one sequence")
    counts = mask != 0
    query, key, value = (t.masked_fill(~counts[:, None, :, None], 0) for t in (query, key, value))
    return operator(query, key, value, *([] if weight is None else [weight]), counts)


def flash_nystrom_attention(q, k, v, num_landmarks=64, newton_iter=6, conv_weight=None,
                            conv_kernel_size=0, fast_dk2inv=True):
    """`nystrom_attention` with the arguments of FlashNystrom's function. There is no convolution
    where `conv_kernel_size` is 0. `fast_dk2inv`, which is of its kernels, is ignored."""
    if conv_kernel_size <= 0:
        return nystrom_attention(q, k, v, num_landmarks, newton_iter)
    if conv_weight is None or conv_weight.shape[-1] != conv_kernel_size:
        given = "none" if conv_weight is None else f"{tuple(conv_weight.shape)}"
        raise errors.InvalidArgument(f"conv_weight is {given} for {conv_kernel_size} neighbours",
                                     "it is [heads, conv_kernel_size]")
    return nystrom_attention(q, k, v, num_landmarks, newton_iter, conv_weight)


# The largest sum of a column, by where the steps begin. Those of rows are 1.
_LARGEST = {"exact": "max(n, sum(m, a))", "original": "max(b, max(h, max(n, sum(m, a))))"}


@functools.lru_cache(maxsize=None)
def _operator(convolves, is_masked, num_landmarks, iterations, initial):
    content = _operators.content_of("nystrom_conv" if convolves else "nystrom")
    content["dims"]["m"] = num_landmarks
    if is_masked:
        content["inputs"]["counts"] = "bool[b, j]"
    for number, statement in enumerate(content["body"]):
        if isinstance(statement, dict):
            statement["repeat"] = iterations
        elif statement.startswith("z["):
            content["body"][number] = f"z[b,h,n,m] = a[b,h,m,n] / {_LARGEST[initial]}"
        elif is_masked and statement.startswith("g["):
            scores = "sum(d, ql * (k[b,h,j,d] * root))"
            content["body"][number] = \
                f"g[b,h,m,j] = softmax(j, where(counts[b,j], {scores}, -inf))"
    return _operators.op(content)


# Names of parameters in FlashNystrom's module, in that of the package nystrom-attention, and in
# Nystromformer's, by ours.
_NAMES = {"qkv.weight": ("to_qkv.weight",), "out.weight": ("out_proj.weight", "to_out.0.weight"),
          "out.bias": ("to_out.0.bias",), "conv": ("conv_weight", "res_conv.weight", "conv.weight")}


class NystromAttention(torch.nn.Module):
    """Self-attention of [B, N, dim] through landmarks: projections to `num_heads` heads,
    `nystrom_attention`, and a projection back. With `conv_kernel_size`, an odd number, the values
    are also convolved over so many neighbours, with weights for each head. `bias` is that of the
    projections to heads, `out_bias` that of the one back.

    `load_state_dict` also takes the parameters of FlashNystrom's module (which has no bias at all)
    and of the package nystrom-attention, under their names."""

    def __init__(self, dim, num_heads=8, num_landmarks=64, conv_kernel_size=None, iterations=6,
                 bias=False, device=None, dtype=None, *, out_bias=True, initial="exact"):
        super().__init__()
        if dim % num_heads:
            raise errors.InvalidArgument(f"{num_heads} heads do not divide {dim} columns",
                                         "choose a number of heads that does")
        if conv_kernel_size is not None and conv_kernel_size % 2 == 0:
            raise errors.InvalidArgument(f"the convolution is over {conv_kernel_size} neighbours",
                                         "choose an odd number: as many before as behind")
        self.num_heads, self.num_landmarks, self.iterations = num_heads, num_landmarks, iterations
        self.initial = initial
        made = {"device": device, "dtype": dtype}
        self.qkv = torch.nn.Linear(dim, 3 * dim, bias=bias, **made)
        self.out = torch.nn.Linear(dim, dim, bias=out_bias, **made)
        self.conv = None if conv_kernel_size is None else torch.nn.Parameter(
            torch.randn(num_heads, conv_kernel_size, **made) / conv_kernel_size)
        self.register_load_state_dict_pre_hook(_rename)

    def forward(self, x, mask=None):
        """[B, N, dim] for [B, N, dim]; N is at least the number of landmarks. `mask` [B, N] is true
        where a token counts."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        o = nystrom_attention(q, k, v, self.num_landmarks, self.iterations, self.conv, mask=mask,
                              initial=self.initial)
        return self.out(o.transpose(1, 2).flatten(-2))


def _rename(module, state, prefix, *_):
    """Gives the parameters of a state our names."""
    apart = [f"{prefix}{n}_proj.weight" for n in "qkv"]
    if all(n in state for n in apart):
        state[prefix + "qkv.weight"] = torch.cat([state.pop(n) for n in apart])
    for own, others in _NAMES.items():
        for other in others:
            if prefix + other in state:
                state[prefix + own] = state.pop(prefix + other)
    if prefix + "conv" in state:  # [H, 1, W, 1] where it is of a Conv2d
        state[prefix + "conv"] = state[prefix + "conv"].flatten(1)
