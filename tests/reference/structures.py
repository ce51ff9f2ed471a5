"""Attention with more axes than batch, head, query and key: pairs, points, latent vectors."""
import math

import numpy as np

from formulas import F32_RUNS, SHORT_RUNS, exponential_error, formula, norm, scale_of, softmax_tolerance, weights


def gated_tolerance(f, name, expected, x, p, unit):
    """The gate is at most 1 and off by 8 u of itself."""
    return softmax_tolerance(f, name, expected, x, p, unit) + 8 * unit * np.abs(expected)


@formula([dict(b=2, n=3, h=2, i=9, j=17), dict(b=1, n=1, h=2, i=1, j=21), dict(b=1, n=2, h=1, i=7, j=1)],
         added=lambda x, p: np.max(np.abs(x["mask"])) + np.max(np.abs(x["pair"])),
         runs=SHORT_RUNS, tolerance=gated_tolerance)
def evoformer(x, p):
    """AlphaFold 2, supplement, algorithm 7: a = softmax(q^T k / sqrt(c) + b), o = g * sum a v, with
    g the sigmoid of a projection; its mask of residues is a bias as well (OpenFold)."""
    result = np.zeros((*x["q"].shape[:4], x["v"].shape[-1]))
    for b, n, h, i in np.ndindex(*x["q"].shape[:4]):
        logits = scale_of(x, p) * (x["k"][b, n, h] @ x["q"][b, n, h, i])
        attended = weights(logits + x["mask"][b, n] + x["pair"][b, h, i]) @ x["v"][b, n, h]
        result[b, n, h, i] = attended / (1 + np.exp(-x["gate"][b, n, h, i]))
    return {"o": result}


def latent_scale(x, p):
    """DeepSeek-V2, section 2.1.3: 1 / sqrt(d_h + d_h^R), d_h = 128 before the projections."""
    return p.get("scale", float(np.float32(1 / math.sqrt(128 + x["qr"].shape[-1]))))


def latent_tolerance(f, name, expected, x, p, unit):
    joined = {"q": np.concatenate([x["q"], x["qr"]], axis=-1),
              "k": np.concatenate([x["latent"], x["kr"]], axis=-1), "latent": x["latent"],
              "qr": x["qr"]}
    return softmax_tolerance(f, name, expected, joined, p, unit)


@formula([dict(b=2, h=3, i=9, j=17), dict(b=1, h=2, i=1, j=21), dict(b=1, h=2, i=7, j=1)],
         static={"c": 64, "r": 24}, runs=SHORT_RUNS, values="latent", scale=latent_scale,
         tolerance=latent_tolerance)
def mla(x, p):
    """DeepSeek-V2, section 2.1.2: "W^UK can be absorbed into W^Q, and W^UV can be absorbed into W^O",
    so a query of the latent space meets the vectors c^KV themselves, beside the decoupled rotary
    part (equations 16 to 18)."""
    result = np.zeros(x["q"].shape)
    for b, h, i in np.ndindex(*x["q"].shape[:3]):
        logits = x["latent"][b] @ x["q"][b, h, i] + x["kr"][b] @ x["qr"][b, h, i]
        result[b, h, i] = weights(latent_scale(x, p) * logits) @ x["latent"][b]
    return {"o": result}


def point_weight(points):
    """AlphaFold 2, supplement, algorithm 22, line 5: w_C; in f32, as scales are."""
    return float(np.float32(math.sqrt(2 / (9 * points.shape[3]))))


def point_weights(x, p, i_points, j_points):
    """AlphaFold 2, supplement, algorithm 22, line 7: the weights of the keys, for every (b, i, h)."""
    for b, i, h in np.ndindex(*x["q"].shape[:3]):
        distances = np.sum((i_points[b, i, h] - j_points[b, :, h]) ** 2, axis=(1, 2))
        logits = scale_of(x, p) * (x["k"][b, :, h] @ x["q"][b, i, h]) + x["bias"][b, i, :, h]
        logits -= x["gamma"][h] * point_weight(i_points) / 2 * distances
        yield (b, i, h), weights(float(np.float32(math.sqrt(1 / 3))) * logits)


def point_error(x, p, unit, i_points, j_points):
    """Of the weights, in sum. Squared distances are sums of 3 p squares of magnitude
    (|a| + |b|)^2, however they are expanded; the points are off by at most 5 u of themselves."""
    count, d, n = i_points.shape[3], x["q"].shape[-1], x["k"].shape[1]
    reach = norm(i_points.reshape(*i_points.shape[:3], -1)) + norm(
        j_points.reshape(*j_points.shape[:3], -1))
    m = (scale_of(x, p) * norm(x["q"]) * norm(x["k"]) + np.max(np.abs(x["bias"]))
         + np.max(np.abs(x["gamma"])) * point_weight(i_points) / 2 * reach**2)
    r = exponential_error(d + 3 * count + 14, m, unit)
    return 2 * r + (2 * n + 2) * unit


def point_tolerance(f, name, expected, x, p, unit):
    values = {"o": "v", "op": "vp", "oz": "z"}[name]
    return point_error(x, p, unit, x["qp"], x["kp"]) * np.max(np.abs(x[values]))


POINTS = [dict(b=2, h=3, i=9, j=17), dict(b=1, h=2, i=1, j=21), dict(b=1, h=2, i=7, j=1)]


@formula(POINTS, static={"d": 16, "e": 24, "c": 20, "p": 3, "r": 5}, runs=F32_RUNS,
         tolerance=point_tolerance)
def ipa(x, p):
    """AlphaFold 2, supplement, algorithm 22, lines 7 to 10, all points in the global frame."""
    b, i, h, _ = x["q"].shape
    outputs = {"o": np.zeros((b, i, h, x["v"].shape[-1])), "op": np.zeros((b, i, h, *x["vp"].shape[3:])),
               "oz": np.zeros((b, i, h, x["z"].shape[-1]))}
    for (b, i, h), a in point_weights(x, p, x["qp"], x["kp"]):
        outputs["o"][b, i, h] = a @ x["v"][b, :, h]
        outputs["op"][b, i, h] = np.tensordot(a, x["vp"][b, :, h], 1)
        outputs["oz"][b, i, h] = a @ x["z"][b, i]
    return outputs


def rotations(dim):
    def make(sizes, generator):
        shape = (sizes["b"], sizes[dim], 3, 3)
        return np.linalg.qr(generator.standard_normal(shape))[0]
    return make


def in_global_frame(points, rotation, translation):
    """T o x = R x + t (AlphaFold 2, supplement, section 1.1), for points [b, n, h, p, 3]."""
    turned = np.einsum("bnxy,bnhpy->bnhpx", rotation, points)
    return turned + translation[:, :, None, None, :]


def frame_tolerance(f, name, expected, x, p, unit):
    """og is a weighted value less t; R^-1 adds at most sqrt(3) of its error, and 5 u of it."""
    error = point_error(x, p, unit, in_global_frame(x["qp"], x["ri"], x["ti"]),
                        in_global_frame(x["kp"], x["rj"], x["tj"]))
    if name == "o":
        return error * np.max(np.abs(x["v"]))
    reach = norm(x["vp"]) + norm(x["tj"]) + norm(x["ti"])
    return math.sqrt(3) * (error + 16 * unit) * reach


@formula(POINTS, static={"d": 16, "e": 24, "p": 3, "r": 5}, runs=F32_RUNS,
         inputs={"ri": rotations("i"), "rj": rotations("j")}, tolerance=frame_tolerance)
def ipa_frames(x, p):
    """AlphaFold 2, supplement, algorithm 22, lines 7, 8 and 10: points are local to frames (R, t);
    what is attended to goes back to the query's frame, x -> R^-1 (x - t)."""
    b, i, h, _ = x["q"].shape
    outputs = {"o": np.zeros((b, i, h, x["v"].shape[-1])), "op": np.zeros((b, i, h, *x["vp"].shape[3:]))}
    values = in_global_frame(x["vp"], x["rj"], x["tj"])
    for (b, i, h), a in point_weights(x, p, in_global_frame(x["qp"], x["ri"], x["ti"]),
                                      in_global_frame(x["kp"], x["rj"], x["tj"])):
        outputs["o"][b, i, h] = a @ x["v"][b, :, h]
        attended = np.tensordot(a, values[b, :, h], 1) - x["ti"][b, i]
        # The inverse of a rotation is its transpose.
        outputs["op"][b, i, h] = attended @ x["ri"][b, i]
    return outputs
