"""attnc in PyTorch.

    causal = attnc.torch.op("causal")     # a spec as an operator: autograd, torch.compile, export,
    o = causal(q, k, v, scale=0.1)        # vmap, autocast; any head dims and types, cpu and GPUs
    o = attnc.torch.attention(q, k, v, is_causal=True)           # scaled_dot_product_attention
    o = attnc.torch.flex_attention(q, k, v, score_mod=soft_cap)  # functions of scores and masks
    layer = attnc.torch.fuse(function)    # plain PyTorch as one program
    o = attnc.torch.nystrom_attention(q, k, v, num_landmarks=64)  # linear in the length
    o = attnc.torch.elsa_attention(q, k, v, bias=bias)           # in f32
"""
from attnc.torch._attention import attention
from attnc.torch._calls import native  # True where calls are made by libattnc_torch.so
from attnc.torch._elsa import elsa_attention
from attnc.torch._flex import flex_attention
from attnc.torch._fused import Fused, fuse
from attnc.torch._nystrom import (NystromAttention, flash_nystrom_attention,
                                   nystrom_attention)
from attnc.torch._operators import Operator, op

# FFPA's package has SDPA's signature for it, too.
ffpa_attn_func = attention

__all__ = ["op", "Operator", "attention", "ffpa_attn_func", "flex_attention", "fuse", "Fused",
           "elsa_attention", "nystrom_attention", "flash_nystrom_attention", "NystromAttention"]
