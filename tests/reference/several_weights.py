"""Variants that use the weights of attention more than once, or change what they sum to."""
import math

import numpy as np

from formulas import (LENGTHS, SHORT_RUNS, attention, every_key, exponential_error, formula, keys_until,
                      logit_bound, queries, scale_of, softmax_tolerance, weights)


def first_scale(x, p):
    return scale_of({"q": x["q1"]}, p)


def difference(x, p, keys):
    """(softmax(Q1 K1^T / sqrt(d)) - lambda softmax(Q2 K2^T / sqrt(d))) V."""
    first, second = ({"q": x["q" + n], "k": x["k" + n], "v": x["v"]} for n in "12")
    return (attention(first, p, keys)
            - x["lambda"][None, :, None, None] * attention(second, p, keys))


def both(x, p):
    return 1 + np.max(np.abs(x["lambda"]))


PAIRS = [("q1", "k1"), ("q2", "k2")]


@formula(LENGTHS, runs=SHORT_RUNS, pairs=PAIRS, scale=first_scale, gain=both)
def differential(x, p):
    """Differential Transformer, equation 1."""
    return {"o": difference(x, p, every_key)}


def normalised_tolerance(f, name, expected, x, p, unit):
    """If y is off by t, then so is its root mean square R at most, and y / R by
    t / R (1 + |y| / R); rsqrt, the mean of squares and four products add a relative
    (4 + e / 2 + 4) u."""
    y = difference(x, p, keys_until)
    t = softmax_tolerance(f, "y", y, x, p, unit)
    e = y.shape[-1]
    root = np.sqrt(np.mean(y**2, axis=-1, keepdims=True))
    return (np.abs(x["gain"]) * t / root * (1 + np.abs(y) / root)
            + (8 + e / 2) * unit * np.abs(expected))


@formula(LENGTHS, [dict(lambda_init=0.5)], runs=SHORT_RUNS, pairs=PAIRS, scale=first_scale,
         gain=both, tolerance=normalised_tolerance)
def differential_norm(x, p):
    """Differential Transformer, equation 3: head_i = (1 - lambda_init) LN(DiffAttn(X)), with "RMSNorm
    for each head"; its weights are `gain`, its epsilon 1e-5. Causal, as a language model."""
    y = difference(x, p, keys_until)
    initial = p.get("lambda_init", float(np.float32(0.8)))
    root = np.sqrt(np.mean(y**2, axis=-1, keepdims=True) + float(np.float32(1e-5)))
    return {"o": (1 - initial) * y / root * x["gain"]}


@formula(LENGTHS + [dict(b=1, h=1, i=30, j=12)], runs=SHORT_RUNS,
         added=lambda x, p: np.max(np.abs(x["sink"])))
def sink(x, p):
    """gpt-oss, section 2.2: "each attention head has a learned bias in the denominator of the
    softmax": one more key, that has a logit and no value. Causal."""
    result = np.zeros((*x["q"].shape[:3], x["v"].shape[-1]))
    for b, h, i in queries(x):
        js = list(keys_until(i, x["k"].shape[2]))
        logits = scale_of(x, p) * (x["k"][b, h, js] @ x["q"][b, h, i])
        result[b, h, i] = weights(np.append(logits, x["sink"][h]))[:-1] @ x["v"][b, h, js]
    return {"o": result}


def document_ids(dim):
    """Documents one after the other, of several lengths."""
    def ids(sizes, generator):
        return np.sort(generator.integers(0, 4, (sizes["b"], sizes[dim])), axis=-1).astype(np.int32)
    return ids


@formula(LENGTHS + [dict(b=2, h=1, i=150, j=150)], runs=SHORT_RUNS,
         inputs={"di": document_ids("i"), "dj": document_ids("j")})
def documents(x, p):
    """The Llama 3 Herd of Models, section 3.2: "an attention mask that prevents self-attention
    between different documents within the same sequence". Causal."""
    result = np.zeros((*x["q"].shape[:3], x["v"].shape[-1]))
    for b, h, i in queries(x):
        js = [j for j in keys_until(i, x["k"].shape[2]) if x["dj"][b, j] == x["di"][b, i]]
        logits = scale_of(x, p) * (x["k"][b, h, js] @ x["q"][b, h, i])
        result[b, h, i] = weights(logits) @ x["v"][b, h, js]
    return {"o": result}


def relative_weight_error(f, x, p, unit):
    """Of exp(s - m) / sum(exp(s - m)) over n keys."""
    n = x["k"].shape[2]
    return 2 * exponential_error(x["q"].shape[-1], logit_bound(f, x, p), unit) + (n + 4) * unit


def column_tolerance(f, name, expected, x, p, unit):
    """A sum of as many weights as there are queries; exp is 0 below 2^-126."""
    if name == "o":
        return softmax_tolerance(f, name, expected, x, p, unit)
    rows = x["q"].shape[2]
    return (relative_weight_error(f, x, p, unit) + rows * unit) * expected + rows * 2.0**-126


@formula(LENGTHS + [dict(b=1, h=1, i=30, j=12)], runs=SHORT_RUNS, tolerance=column_tolerance)
def column_sums(x, p):
    """H2O, section 3.2: the score of a key is its attention "accumulated" over all queries. Causal."""
    sums = np.zeros(x["k"].shape[:3])
    for b, h, i in queries(x):
        js = list(keys_until(i, x["k"].shape[2]))
        sums[b, h, js] += weights(scale_of(x, p) * (x["k"][b, h, js] @ x["q"][b, h, i]))
    return {"o": attention(x, p, keys_until), "c": sums}


def entropy_tolerance(f, name, expected, x, p, unit):
    """With w the relative error of a weight g, g log(g) is off by w g |log(g)| + w g, and a logarithm
    by 4 u (1 + |log(g)|); the sum adds n u |H|."""
    if name == "o":
        return softmax_tolerance(f, name, expected, x, p, unit)
    return (relative_weight_error(f, x, p, unit) + 4 * unit) * (1 + expected) \
        + x["k"].shape[2] * unit * expected


@formula(LENGTHS, runs=SHORT_RUNS, tolerance=entropy_tolerance)
def entropy(x, p):
    """Zhai et al. 2023, section 3: Ent(A_i) = -sum_j A_ij log(A_ij)."""
    result = np.zeros(x["q"].shape[:3])
    for b, h, i in queries(x):
        logits = scale_of(x, p) * (x["k"][b, h] @ x["q"][b, h, i])
        result[b, h, i] = -sum(g * math.log(g) for g in weights(logits) if g > 0)
    return {"o": attention(x, p, every_key), "ent": result}
