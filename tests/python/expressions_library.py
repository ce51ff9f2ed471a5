"""The library of specs, kernels_spec, as functions of Python."""
from attnc.spec import (dim, dims, exp, f32, i32, i64, inf, let, logsumexp, max, maximum, mean,
                        part, rand, repeat, rsqrt, sigmoid, size, softmax, spec, sqrt, sum, tanh,
                        types, where, xlogy)

T = types("T=bf16")
b, h, hk, i, j, d, e = dims("b h hk i j d=64 e=64")
bottom_right = j <= i + size(j) - size(i)


@spec
def alibi(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e], slope: f32[h],
          scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    s = where(j <= i, s + slope * (j - i), -inf)
    p = softmax(j, s)
    return sum(j, p * v)


@spec
def bias(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e], bias: T[b, h, i, j],
         scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, s + bias)
    return sum(j, p * v)


@spec
def causal(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
           scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, where(j <= i, s, -inf))
    return sum(j, p * v)


@spec
def causal_bottom_right(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
                        scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, where(bottom_right, s, -inf))
    return sum(j, p * v)


@spec
def column_sums(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
                scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e], c=f32[b, h, j]):
    s = sum(d, q * k) * scale
    p = softmax(j, where(j <= i, s, -inf))
    return sum(j, p * v), sum(i, p)


@spec
def cross(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
          scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, s)
    return sum(j, p * v)


@spec
def documents(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e], di: i32[b, i], dj: i32[b, j],
              scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, where((di == dj) & (j <= i), s, -inf))
    return sum(j, p * v)


@spec
def dropout(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
            scale: f32 > 0 = 1 / sqrt(size(d)), seed: i64 = 0,
            keep: (f32 > 0) <= 1 = 0.9) -> dict(o=T[b, h, i, e]):
    p = softmax(j, sum(d, q * k) * scale)
    p = where(rand(seed, b, h, i, j) < keep, p, 0)
    return sum(j, p * v) / keep


@spec
def entropy(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
            scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e], ent=f32[b, h, i]):
    s = sum(d, q * k) * scale
    p = softmax(j, s)
    return sum(j, p * v), -sum(j, xlogy(p, p))


@spec
def full(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
         scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, s)
    return sum(j, p * v)


g = let("g", size(h) // size(hk))


@spec(require=[size(h) % size(hk) == 0])
def gqa(q: T[b, h, i, d], k: T[b, hk, j, d], v: T[b, hk, j, e],
        scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k[b, h // g, j, d]) * scale
    p = softmax(j, s)
    return sum(j, p * v[b, h // g, j, e])


@spec
def linear(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e]) -> dict(o=T[b, h, i, e]):
    fq = where(q > 0, q + 1, exp(q))
    fk = where(k > 0, k + 1, exp(k))
    p = sum(d, fq * fk)
    return sum(j, p * v) / sum(j, p)


@spec
def linear_causal(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e]) -> dict(o=T[b, h, i, e]):
    fq = where(q > 0, q + 1, exp(q))
    fk = where(k > 0, k + 1, exp(k))
    p = where(j <= i, sum(d, fq * fk), 0)
    return sum(j, p * v) / sum(j, p)


@spec
def lse(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
        scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e], lse=f32[b, h, i]):
    s = sum(d, q * k) * scale
    p = softmax(j, s)
    return sum(j, p * v), logsumexp(j, s)


@spec
def prefix_lm(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
              scale: f32 > 0 = 1 / sqrt(size(d)),
              prefix: i64 >= 0 = 32) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, where((j <= i) | (j < prefix), s, -inf))
    return sum(j, p * v)


n = dims("n=32")


@spec
def relative_bias(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e], bucket: i32[i],
                  w: f32[n, h]) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) + w[bucket[maximum(i - j, 0)], h]
    p = softmax(j, where(j <= i, s, -inf))
    return sum(j, p * v)


@spec
def sink(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e], sink: f32[h],
         scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = where(j <= i, sum(d, q * k) * scale, -inf)
    m = maximum(max(j, s), sink)
    x = exp(s - m)
    return sum(j, x * v) / (sum(j, x) + exp(sink - m))


w = let("w", 64)


@spec
def sliding_window(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
                   scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, where((j <= i) & (j > i - w), s, -inf))
    return sum(j, p * v)


@spec
def softcap(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
            scale: f32 > 0 = 1 / sqrt(size(d)), cap: f32 > 0 = 50) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, cap * tanh(s / cap))
    return sum(j, p * v)


# --- wide values ---------------------------------------------------------------------------------

e128 = dims("e=128")


@spec
def differential(q1: T[b, h, i, d], q2: T[b, h, i, d], k1: T[b, h, j, d], k2: T[b, h, j, d],
                 v: T[b, h, j, e128], lambda_: f32[h],
                 scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e128]):
    p1 = softmax(j, sum(d, q1 * k1) * scale)
    p2 = softmax(j, sum(d, q2 * k2) * scale)
    return sum(j, (p1 - lambda_ * p2) * v)


@spec
def differential_norm(q1: T[b, h, i, d], q2: T[b, h, i, d], k1: T[b, h, j, d], k2: T[b, h, j, d],
                      v: T[b, h, j, e128], lambda_: f32[h], gain: f32[e128],
                      scale: f32 > 0 = 1 / sqrt(size(d)), lambda_init: (f32 >= 0) < 1 = 0.8,
                      eps: f32 > 0 = 0.00001) -> dict(o=T[b, h, i, e128]):
    p1 = softmax(j, where(j <= i, sum(d, q1 * k1) * scale, -inf))
    p2 = softmax(j, where(j <= i, sum(d, q2 * k2) * scale, -inf))
    y = sum(j, (p1 - lambda_ * p2) * v)[b, h, i, e128]
    return (1 - lambda_init) * y * rsqrt(mean(e128, y ** 2) + eps) * gain


# --- f32 -----------------------------------------------------------------------------------------

F = types("T=f32")


@spec(schedule={"fold": "two_pass", "splits": 4})
def elsa(q: F[b, h, i, d], k: F[b, h, j, d], v: F[b, h, j, e],
         scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=F[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, s)
    return sum(j, p * v)


@spec
def elsa_bias(q: F[b, h, i, d], k: F[b, h, j, d], v: F[b, h, j, e], bias: F[h, i, j],
              scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=F[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, s + bias)
    return sum(j, p * v)


@spec
def elsa_causal(q: F[b, h, i, d], k: F[b, h, j, d], v: F[b, h, j, e],
                scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=F[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(j, where(j <= i, s, -inf))
    return sum(j, p * v)


# --- wide heads ----------------------------------------------------------------------------------

D, E = dims("d=512 e=512")


@spec
def ffpa(q: T[b, h, i, D], k: T[b, h, j, D], v: T[b, h, j, E],
         scale: f32 > 0 = 1 / sqrt(size(D))) -> dict(o=T[b, h, i, E]):
    s = sum(D, q * k) * scale
    p = softmax(j, s)
    return sum(j, p * v)


@spec
def ffpa_causal(q: T[b, h, i, D], k: T[b, h, j, D], v: T[b, h, j, E],
                scale: f32 > 0 = 1 / sqrt(size(D))) -> dict(o=T[b, h, i, E]):
    s = sum(D, q * k) * scale
    p = softmax(j, where(bottom_right, s, -inf))
    return sum(j, p * v)


@spec
def ffpa_cross(q: T[b, h, i, D], k: T[b, h, j, D], v: T[b, h, j, E],
               scale: f32 > 0 = 1 / sqrt(size(D))) -> dict(o=T[b, h, i, E]):
    s = sum(D, q * k) * scale
    p = softmax(j, s)
    return sum(j, p * v)


@spec
def ffpa_dropout(q: T[b, h, i, D], k: T[b, h, j, D], v: T[b, h, j, E],
                 scale: f32 > 0 = 1 / sqrt(size(D)), seed: i64 = 0,
                 keep: (f32 > 0) <= 1 = 0.9) -> dict(o=T[b, h, i, E]):
    s = sum(D, q * k) * scale
    p = softmax(j, s)
    p = where(rand(seed, b, h, i, j) < keep, p, 0)
    return sum(j, p * v) / keep


@spec(require=[size(h) % size(hk) == 0])
def ffpa_gqa(q: T[b, h, i, D], k: T[b, hk, j, D], v: T[b, hk, j, E],
             scale: f32 > 0 = 1 / sqrt(size(D))) -> dict(o=T[b, h, i, E]):
    s = sum(D, q * k[b, h // g, j, D]) * scale
    p = softmax(j, s)
    return sum(j, p * v[b, h // g, j, E])


@spec
def ffpa_mask(q: T[b, h, i, D], k: T[b, h, j, D], v: T[b, h, j, E], mask: T[b, h, i, j],
              scale: f32 > 0 = 1 / sqrt(size(D))) -> dict(o=T[b, h, i, E]):
    s = sum(D, q * k) * scale
    p = softmax(j, s + mask)
    return sum(j, p * v)


# --- proteins ------------------------------------------------------------------------------------

d32, e32, rows = dims("d=32 e=32 n")


@spec
def evoformer(q: T[b, rows, h, i, d32], k: T[b, rows, h, j, d32], v: T[b, rows, h, j, e32],
              mask: T[b, rows, j], pair: T[b, h, i, j], gate: T[b, rows, h, i, e32],
              scale: f32 > 0 = 1 / sqrt(size(d32))) -> dict(o=T[b, rows, h, i, e32]):
    s = sum(d32, q * k) * scale
    p = softmax(j, s + mask + pair)
    return sigmoid(gate) * sum(j, p * v)


d16, e16, c, p, r, x, y = dims("d=16 e=16 c=128 p=4 r=8 x=3 y=3")


@spec
def ipa(q: F[b, i, h, d16], k: F[b, j, h, d16], v: F[b, j, h, e16], qp: F[b, i, h, p, x],
        kp: F[b, j, h, p, x], vp: F[b, j, h, r, x], bias: F[b, i, j, h], z: F[b, i, j, c],
        gamma: F[h], scale: f32 > 0 = 1 / sqrt(size(d16)),
        wc: f32 > 0 = sqrt(2 / (9 * size(p))), wl: f32 > 0 = sqrt(1 / 3)
        ) -> dict(o=F[b, i, h, e16], op=F[b, i, h, r, x], oz=F[b, i, h, c]):
    near = sum((p, x), (qp - kp) ** 2) * gamma * wc / 2
    s = wl * (sum(d16, q * k) * scale + bias - near)
    a = softmax(j, s)
    return sum(j, a * v), sum(j, a * vp), sum(j, a * z)


@spec
def ipa_frames(q: F[b, i, h, d16], k: F[b, j, h, d16], v: F[b, j, h, e16], qp: F[b, i, h, p, y],
               kp: F[b, j, h, p, y], vp: F[b, j, h, r, y], ri: F[b, i, x, y], ti: F[b, i, x],
               rj: F[b, j, x, y], tj: F[b, j, x], bias: F[b, i, j, h], gamma: F[h],
               scale: f32 > 0 = 1 / sqrt(size(d16)), wc: f32 > 0 = sqrt(2 / (9 * size(p))),
               wl: f32 > 0 = sqrt(1 / 3)) -> dict(o=F[b, i, h, e16], op=F[b, i, h, r, y]):
    qg = (sum(y, ri * qp) + ti)[b, i, h, p, x]
    kg = (sum(y, rj * kp) + tj)[b, j, h, p, x]
    vg = (sum(y, rj * vp) + tj)[b, j, h, r, x]
    near = sum((p, x), (qg - kg) ** 2) * gamma * wc / 2
    s = wl * (sum(d16, q * k) * scale + bias - near)
    a = softmax(j, s)
    o = sum(j, a * v)
    og = (sum(j, a * vg) - ti)[b, i, h, r, x]
    return o, sum(x, ri * og)


# --- caches, lengths and packed sequences --------------------------------------------------------

c512, r64 = dims("c=512 r=64")


@spec
def mla(q: T[b, h, i, c512], qr: T[b, h, i, r64], latent: T[b, j, c512], kr: T[b, j, r64],
        scale: f32 > 0 = 1 / sqrt(128 + size(r64))) -> dict(o=T[b, h, i, c512]):
    s = (sum(c512, q * latent) + sum(r64, qr * kr)) * scale
    p = softmax(j, s)
    return sum(j, p * latent)


pages, t, width = dims("n t=16 w")
cached = dim("j", size(width) * size(t))


@spec(require=[size(h) % size(hk) == 0])
def paged(q: T[b, h, i, d], kp: T[pages, t, hk, d], vp: T[pages, t, hk, e], table: i32[b, width],
          scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    def at(x, column):
        return x[table[b, cached // size(t)], cached % size(t), h // g, column]

    s = sum(d, q * at(kp, d)) * scale
    s = where(table[b, cached // size(t)] >= 0, s, -inf)
    p = softmax(cached, s)
    return sum(cached, p * at(vp, e))


bounds = dims("n")
sequence = dim("b", size(bounds) - 1)
ri, rj = (dim(name, ragged="cu", over=sequence) for name in "ij")


@spec
def ragged(q: T[ri, h, d], k: T[rj, h, d], v: T[rj, h, e], cu: i32[bounds],
           scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[sequence, ri, h, e]):
    s = sum(d, q * k) * scale
    p = softmax(rj, where(rj <= ri, s, -inf))
    return sum(rj, p * v)


valid = dim("j", length="len[b]")


@spec
def varlen(q: T[b, h, i, d], k: T[b, h, valid, d], v: T[b, h, valid, e], len: i32[b],
           scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
    s = sum(d, q * k) * scale
    p = softmax(valid, s)
    return sum(valid, p * v)


# --- landmarks -----------------------------------------------------------------------------------

def nystrom_specs():
    """Both of them: they share all but the last statement."""
    m = dims("m=32")
    n, x, y = (dim(name, size(m)) for name in "nxy")
    w = dims("w=33")
    lq, lk = let("lq", size(i) // size(m)), let("lk", size(j) // size(m))
    r, t = dim("r", size(i) - lq * (size(m) - 1)), dim("t", size(j) - lk * (size(m) - 1))

    @part
    def landmarks(q, k, v, root):
        nq = where(m == size(m) - 1, size(r), lq)
        nk = where(n == size(m) - 1, size(t), lk)
        ql = (sum(r, where(r < nq, q[b, h, m*lq + r, d].otherwise(0), 0)) * root / nq)[b, h, m, d]
        kl = (sum(t, where(t < nk, k[b, h, n*lk + t, d].otherwise(0), 0)) * root / nk)[b, h, n, d]
        f = softmax(n, sum(d, q * root * kl))[b, h, i, n]
        a = softmax(n, sum(d, ql * kl))[b, h, m, n]
        g = softmax(j, sum(d, ql * (k * root)))[b, h, m, j]
        z = (a / (max(n, sum(m, a)) * max(m, sum(n, a))))[b, h, n, m]

        def closer(z):
            az = sum(n, a * z[b, h, n, x])[b, h, m, x]
            z7 = (where(m == x, 7, 0) - az)[b, h, m, x]
            z15 = (where(m == x, 15, 0) - sum(y, az[b, h, m, y] * z7[b, h, y, x]))[b, h, m, x]
            z13 = (where(m == x, 13, 0) - sum(y, az[b, h, m, y] * z15[b, h, y, x]))[b, h, m, x]
            return sum(x, z[b, h, n, x] * z13[b, h, x, m]) / 4

        z = repeat(6, closer, z)
        gv = sum(j, g * v)[b, h, m, e]
        zgv = sum(m, z * gv)[b, h, n, e]
        return sum(n, f * zgv)

    @spec(require=[size(i) >= size(m), size(j) >= size(m)])
    def nystrom(q: F[b, h, i, d], k: F[b, h, j, d], v: F[b, h, j, e],
                root: f32 > 0 = 1 / sqrt(sqrt(size(d)))) -> dict(o=F[b, h, i, e]):
        return landmarks(q, k, v, root)

    @spec(require=[size(i) >= size(m), size(j) >= size(m), size(i) == size(j)])
    def nystrom_conv(q: F[b, h, i, d], k: F[b, h, j, d], v: F[b, h, j, e], c: F[h, w],
                     root: f32 > 0 = 1 / sqrt(sqrt(size(d)))) -> dict(o=F[b, h, i, e]):
        return landmarks(q, k, v, root) + sum(
            w, c * v[b, h, i + w - size(w) // 2, e].otherwise(0))

    return nystrom, nystrom_conv


nystrom, nystrom_conv = nystrom_specs()
