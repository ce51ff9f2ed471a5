"""Attention through landmarks, linear in the length; Xiong et al. 2021, Nystromformer."""
import functools

import torch

from attnc import errors
from attnc.torch import _operators


def nystrom_attention(query, key, value, num_landmarks=64, iterations=6, weight=None):
    """Attention of query [B, H, Q, D] to key [B, H, KV, D] and value [B, H, KV, E] through
    `num_landmarks` means of segments of queries and of keys, with `iterations` steps towards the
    pseudoinverse of their matrix. `weight` [H, W] adds a convolution of the values over W
    neighbours along the sequence, which needs as many queries as keys. The last segment takes what
    is left of a length that the landmarks do not divide. Exact gradients of all of it."""
    if num_landmarks < 1 or iterations < 1:
        raise errors.InvalidArgument(f"{num_landmarks} landmarks and {iterations} steps",
                                     "both are at least 1")
    operator = _operator(weight is not None, num_landmarks, iterations)
    return operator(query, key, value, *([] if weight is None else [weight]))


@functools.lru_cache(maxsize=None)
def _operator(convolves, num_landmarks, iterations):
    content = _operators.content_of("nystrom_conv" if convolves else "nystrom")
    for statement in content["body"]:
        if isinstance(statement, dict):
            statement["repeat"] = iterations
    content["dims"]["m"] = num_landmarks
    return _operators.op(content)


class NystromAttention(torch.nn.Module):
    """Self-attention of [B, N, dim] through landmarks: projections to `num_heads` heads,
    `nystrom_attention`, and a projection back. With `conv_kernel_size`, an odd number, the values
    are also convolved over so many neighbours, with weights for each head."""

    def __init__(self, dim, num_heads=8, num_landmarks=64, conv_kernel_size=None, iterations=6,
                 bias=False, device=None, dtype=None):
        super().__init__()
        if dim % num_heads:
            raise errors.InvalidArgument(f"{num_heads} heads do not divide {dim} columns",
                                         "choose a number of heads that does")
        if conv_kernel_size is not None and conv_kernel_size % 2 == 0:
            raise errors.InvalidArgument(f"the convolution is over {conv_kernel_size} neighbours",
                                         "choose an odd number: as many before as behind")
        self.num_heads, self.num_landmarks, self.iterations = num_heads, num_landmarks, iterations
        made = {"device": device, "dtype": dtype}
        self.qkv = torch.nn.Linear(dim, 3 * dim, bias=bias, **made)
        self.out = torch.nn.Linear(dim, dim, **made)
        self.conv = None if conv_kernel_size is None else torch.nn.Parameter(
            torch.randn(num_heads, conv_kernel_size, **made) / conv_kernel_size)

    def forward(self, x):
        """[B, N, dim] for [B, N, dim]; N is at least the number of landmarks."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        o = nystrom_attention(q, k, v, self.num_landmarks, self.iterations, self.conv)
        return self.out(o.transpose(1, 2).flatten(-2))
