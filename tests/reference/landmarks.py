"""Variants that are linear in the number of keys: landmarks, and feature maps."""
import numpy as np

from formulas import LENGTHS, SHORT_RUNS, every_key, formula, keys_until, queries


class Arithmetic:
    """Real arithmetic, or one whose results are off by as much as rounding may move them: a sum of
    n products by (n + 2) u times the sum of their magnitudes, other functions by 4 u of themselves.
    `signs` draws the part of that between -1 and 1, for an array of a shape."""

    def __init__(self, unit=0.0, signs=np.zeros):
        self.unit, self.signs = unit, signs

    def product(self, a, b):
        off = (a.shape[-1] + 2) * self.unit * (np.abs(a) @ np.abs(b))
        return a @ b + off * self.signs(off.shape)

    def map(self, array):
        return array * (1 + 4 * self.unit * self.signs(array.shape))

    def softmax(self, logits):
        """The maximum is exact; its difference to a logit is rounded once."""
        top = np.max(logits, axis=-1, keepdims=True)
        exponentials = self.map(np.exp(self.map(logits - top)))
        ones = np.ones((logits.shape[-1], 1))
        return self.map(exponentials / self.product(exponentials, ones))


def segment_means(rows, m, arithmetic):
    """Nystromformer, section 3.2: "s-Means" over n / m consecutive rows; the last of the m segments
    takes what is left over."""
    length = len(rows) // m
    segments = [rows[s * length: (s + 1) * length if s < m - 1 else len(rows)] for s in range(m)]
    return np.concatenate(
        [arithmetic.product(np.full((1, len(s)), 1 / len(s)), s) for s in segments])


def pseudoinverse(a, arithmetic):
    """Nystromformer, section 3.3: Z0 = A^T / (||A||_1 ||A||_inf), and equation 10 six times:
    Z <- 1/4 Z (13 I - A Z (15 I - A Z (7 I - A Z)))."""
    identity = np.eye(len(a))
    z = arithmetic.map(a.T / (np.max(np.sum(np.abs(a), axis=0)) * np.max(np.sum(np.abs(a), axis=1))))
    for _ in range(6):
        az = arithmetic.product(a, z)
        inner = arithmetic.map(7 * identity - az)
        inner = arithmetic.map(15 * identity - arithmetic.product(az, inner))
        inner = arithmetic.map(13 * identity - arithmetic.product(az, inner))
        z = arithmetic.product(z, inner) / 4
    return z


def landmark_attention(x, arithmetic, m=8):
    """Nystromformer, equation 13, right to left: softmax(Q Kl^T) (Z (softmax(Ql K^T) V)), of queries
    and keys that are both scaled by d^(-1/4)."""
    result = np.zeros((*x["q"].shape[:3], x["v"].shape[-1]))
    for b, h in np.ndindex(*x["q"].shape[:2]):
        root = float(np.float32(x["q"].shape[-1] ** -0.25))
        q, k = (arithmetic.map(x[name][b, h] * root) for name in "qk")
        ql, kl = (segment_means(rows, m, arithmetic) for rows in (q, k))
        f = arithmetic.softmax(arithmetic.product(q, kl.T))
        a = arithmetic.softmax(arithmetic.product(ql, kl.T))
        g = arithmetic.softmax(arithmetic.product(ql, k.T))
        attended = arithmetic.product(g, x["v"][b, h])
        result[b, h] = arithmetic.product(f, arithmetic.product(pseudoinverse(a, arithmetic), attended))
    return result


def convolved(x):
    """Nystromformer, section 3.4: a depthwise convolution of V is added, one filter for each head,
    centred and padded with zeros."""
    _, _, n, _ = x["v"].shape
    w = x["c"].shape[-1]
    padded = np.pad(x["v"], ((0, 0), (0, 0), (w // 2, w // 2), (0, 0)))
    return sum(x["c"][None, :, r, None, None] * padded[:, :, r:r + n] for r in range(w))


def landmark_tolerance(f, name, expected, x, p, unit):
    """Worst cases multiply beyond use in six steps of the iteration, which corrects its own errors
    and passes on others; so they are committed instead. To first order the result moves by
    sum_k J_k b_k e_k, b_k being the bounds of Arithmetic and |e_k| <= 1. For e_k that are independent
    and of mean zero it exceeds 8 S with probability 2 exp(-32) (Hoeffding), S^2 = sum (J_k b_k)^2 as
    8 evaluations with random signs estimate it; 4 with one sign for each array stand for
    roundings that all go one way. An element that moves little in these few by chance has the
    mean over all of S^2. The evaluations are made with the unit of f32, large enough to show above
    their own rounding, and S is proportional to the unit."""
    generator, f32 = np.random.default_rng(1), 2.0**-24

    def each(shape):
        return generator.choice([-1.0, 1.0], shape)

    def common(shape):
        return generator.choice([-1.0, 1.0])
    exact = landmark_attention(x, Arithmetic())
    squares = [(landmark_attention(x, Arithmetic(f32, signs)) - exact) ** 2
               for signs in [each] * 8 + [common] * 4]
    variance = np.mean(squares[:8], axis=0) + np.mean(squares[8:], axis=0)
    bound = 8 * np.sqrt(np.maximum(variance, np.mean(variance))) * unit / f32
    if "c" in x:
        w = x["c"].shape[-1]
        magnitude = convolved({"c": np.abs(x["c"]), "v": np.abs(x["v"])})
        bound = bound + (w + 4) * unit * (magnitude + np.abs(exact))
    return bound


# 34 kernels each: fewer runs.
LANDMARK_RUNS = [("reference", "bf16"), ("cpu", "f32")]
LANDMARKS = {"m": 8, "w": 5}


@formula([dict(b=2, h=2, i=61, j=83), dict(b=1, h=1, i=64, j=8), dict(b=1, h=2, i=15, j=16)],
         static=LANDMARKS, runs=LANDMARK_RUNS, tolerance=landmark_tolerance)
def nystrom(x, p):
    return {"o": landmark_attention(x, Arithmetic())}


@formula([dict(b=2, h=2, i=61, j=61), dict(b=1, h=1, i=8, j=8)],
         static=LANDMARKS, runs=LANDMARK_RUNS, tolerance=landmark_tolerance)
def nystrom_conv(x, p):
    return {"o": landmark_attention(x, Arithmetic()) + convolved(x)}


def features(array):
    """Katharopoulos et al. 2020, equation 7: phi(x) = elu(x) + 1."""
    return np.where(array > 0, array, np.expm1(np.minimum(array, 0))) + 1


def weighted_by_features(x, keys):
    """Katharopoulos et al. 2020, equations 4 and 9: sum_j phi(q) phi(k_j) v_j over the sum of
    phi(q) phi(k_j)."""
    result = np.zeros((*x["q"].shape[:3], x["v"].shape[-1]))
    for b, h, i in queries(x):
        js = list(keys(i, x["k"].shape[2]))
        similarity = features(x["k"][b, h, js]) @ features(x["q"][b, h, i])
        result[b, h, i] = similarity @ x["v"][b, h, js] / np.sum(similarity)
    return result


def feature_tolerance(f, name, expected, x, p, unit):
    """All phi are positive and off by 5 u, so numerator (in terms of its magnitudes) and denominator
    are sums of d n positive products, off by (d + n + 14) u in whatever order; the quotient by twice
    that times the largest value."""
    d, n = x["q"].shape[-1], x["k"].shape[2]
    return 2 * (d + n + 16) * unit * np.max(np.abs(x["v"]))


@formula(LENGTHS, runs=SHORT_RUNS, tolerance=feature_tolerance)
def linear(x, p):
    return {"o": weighted_by_features(x, every_key)}


@formula(LENGTHS + [dict(b=1, h=1, i=30, j=12)], runs=SHORT_RUNS,
         tolerance=feature_tolerance)
def linear_causal(x, p):
    return {"o": weighted_by_features(x, keys_until)}
