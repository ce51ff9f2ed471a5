"""PyTorch's attention beside ours: cuDNN and Flash through scaled_dot_product_attention, and
FlexAttention compiled by torch.compile, each as it is meant to be called."""
import contextlib
import warnings

import attention_cells as cells


def make_peer(torch, name, c, sets):
    """call(index) -> {"o": tensor, ...} on input set `index`. Raises what PyTorch raises."""
    if name == "flex":
        return flex(torch, c, sets)
    return sdpa(torch, name, c, sets)


def sdpa(torch, name, c, sets):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
               "efficient": SDPBackend.EFFICIENT_ATTENTION}[name]
    if c.mask not in ("full", "causal") or c.kind not in ("plain", "lse", "bias"):
        raise ValueError(f"{name} does not compute this")

    def call(index):
        inputs, extra = sets[index]
        with sdpa_kernel(backend):
            return {"o": torch.nn.functional.scaled_dot_product_attention(
                inputs["q"], inputs["k"], inputs["v"], attn_mask=extra.get("bias"),
                is_causal=c.mask == "causal", enable_gqa=c.h != c.hk)}
    return call


def flex(torch, c, sets):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    torch._dynamo.reset()  # else the kernels of earlier cells count against its limit
    compiled = torch.compile(flex_attention, dynamic=False)
    mask = cells.mask_function(c)
    block_mask = mask and create_block_mask(mask, None, None, c.queries, c.n, device="cuda")
    scores = [cells.score_function(c, extra) for _, extra in sets]

    def call(index):
        inputs, _ = sets[index]
        return {"o": compiled(inputs["q"], inputs["k"], inputs["v"], score_mod=scores[index],
                              block_mask=block_mask, enable_gqa=c.h != c.hk)}
    return call


@contextlib.contextmanager
def quiet():
    """PyTorch warns of every backend that it does not take."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
