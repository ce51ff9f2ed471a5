"""Attention whose papers change how it is computed and not what: wide heads, and folds in parts."""
import numpy as np

from formulas import (F32_RUNS, LENGTHS, SHORT_RUNS, attention, dropout, every_key, formula, gqa,
                      keys_until)

# Beyond the 256 columns that FlashAttention-2 has; not equal, and no multiples of 64.
WIDE = {"d": 328, "e": 320}


def largest_of(name):
    return lambda x, p: np.max(np.abs(x[name]))


def added_mask(name):
    """What is added to the logits of a query: of its batch and head, or of its head."""
    def change(x):
        def biased(logits, place, i, js):
            return logits + (x[name][place] if x[name].ndim == 4 else x[name][place[1]])[i, js]
        return biased
    return change


@formula([dict(b=1, h=2, i=33, j=33), dict(b=1, h=1, i=1, j=1)], static=WIDE, runs=SHORT_RUNS)
def ffpa(x, p):
    """FFPA: "exact attention" for head dims of 320 to 1024; Nq = Nkv is self-attention."""
    return {"o": attention(x, p, every_key)}


@formula([dict(b=1, h=1, i=5, j=7)], static={"d": 1024, "e": 1024}, runs=SHORT_RUNS)
def ffpa_cross(x, p):
    """FFPA: "cross-attention where the query seqlen Nq may differ from the key/value seqlen Nkv"."""
    return {"o": attention(x, p, every_key)}


@formula([dict(b=1, h=2, i=19, j=33), dict(b=1, h=1, i=20, j=12)], static=WIDE, runs=SHORT_RUNS)
def ffpa_causal(x, p):
    """FFPA: "queries are aligned to the KV tail, i.e. Q row r attends to k <= r + (Nkv - Nq)"."""
    rows = x["q"].shape[2]
    return {"o": attention(x, p, lambda r, n: range(max(0, r + n - rows + 1)))}


@formula([dict(b=2, h=6, hk=2, i=9, j=17)], static=WIDE, runs=SHORT_RUNS)
def ffpa_gqa(x, p):
    """FFPA: "Q has Nh_q heads and K/V have Nh_kv heads"; the heads of a group are neighbours."""
    return gqa(x, p)


@formula([dict(b=2, h=2, i=9, j=17)], static=WIDE, runs=SHORT_RUNS, added=largest_of("mask"))
def ffpa_mask(x, p):
    """FFPA: attn_mask as of PyTorch's scaled_dot_product_attention, "added to the attention
    score"."""
    return {"o": attention(x, p, every_key, added_mask("mask")(x))}


@formula([dict(b=1, h=2, i=9, j=17)], [dict(seed=7, keep=0.5)], static=WIDE, runs=SHORT_RUNS,
         gain=lambda x, p: 1 / p.get("keep", 0.9))
def ffpa_dropout(x, p):
    """FFPA: dropout as of PyTorch's scaled_dot_product_attention: weights are dropped, and the rest
    scaled by 1 / keep."""
    return dropout(x, p)


@formula(LENGTHS + [dict(b=1, h=1, i=5, j=300)], runs=F32_RUNS)
def elsa(x, p):
    """ELSA: "preserves exact softmax semantics"; partial states (m, S, W) only combine."""
    return {"o": attention(x, p, every_key)}


@formula(LENGTHS + [dict(b=1, h=1, i=150, j=140)], runs=F32_RUNS)
def elsa_causal(x, p):
    """ELSA with the causal mask of Vaswani et al. 2017, section 3.2.3."""
    return {"o": attention(x, p, keys_until)}


@formula(LENGTHS, runs=F32_RUNS, added=largest_of("bias"))
def elsa_bias(x, p):
    """ELSA in Swin transformers: softmax(q k^T / sqrt(d) + B) (Liu et al. 2021, equation 4)."""
    return {"o": attention(x, p, every_key, added_mask("bias")(x))}
