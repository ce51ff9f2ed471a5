"""Attention as people write it in PyTorch: functions of tensors, and arguments for them."""
import math

import torch
import torch.nn.functional as F



def plain(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1) @ v


def masked(q, k, v):
    n = q.shape[-2]
    seen = torch.tril(torch.ones(n, n, dtype=torch.bool, device=q.device))
    return (q @ k.mT * 0.2).masked_fill(~seen, float("-inf")).softmax(-1) @ v


def evoformer(q, k, v, mask, pair, gate):
    scores = torch.einsum("bnhid,bnhjd->bnhij", q, k) * 0.1
    scores = scores + mask[:, :, None, None, :] + pair[:, None]
    return torch.sigmoid(gate) * torch.einsum("bnhij,bnhjd->bnhid", scores.softmax(-1), v)


def projected(x, wq, wk, wv, wo):
    b, n, e = x.shape
    q, k, v = ((x @ w.T).view(b, n, 4, e // 4).transpose(1, 2) for w in (wq, wk, wv))
    weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(e // 4), -1)
    return (weights @ v).transpose(1, 2).reshape(b, n, e) @ wo.T


def heads_in_columns(q, k, v):
    b, n, _ = q.shape
    q, k, v = (t.view(b, t.shape[1], 4, -1).permute(0, 2, 1, 3) for t in (q, k, v))
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return o.permute(0, 2, 1, 3).reshape(b, n, -1)


def shared_heads(q, k, v):
    k = k.repeat_interleave(2, dim=1)
    v = v[:, :, None].expand(-1, -1, 2, -1, -1).reshape(v.shape[0], -1, *v.shape[2:])
    weights = F.softmax((q @ k.transpose(2, 3)) * 0.3, dim=-1, dtype=torch.float32)
    return weights.to(q.dtype) @ v


def alibi(q, k, v, slopes):
    i = torch.arange(q.shape[2], device=q.device)
    return (q @ k.mT * 0.2 - slopes[:, None, None] * (i[None] - i[:, None]).abs()).softmax(-1) @ v


def differential(q, k, q2, k2, v, weight):
    return (torch.softmax(q @ k.mT, -1) - weight * torch.softmax(q2 @ k2.mT, -1)) @ v


def by_hand(q, k, v):
    s = q @ k.mT
    p = torch.exp(s - s.amax(-1, keepdim=True))
    return (p @ v) / p.sum(-1, keepdim=True)


def with_itself(x):
    return torch.softmax(x @ x.transpose(-1, -2), -1) @ x


def linear(q, k, v):
    q, k = F.relu(q) + 1, torch.sigmoid(k)
    return (q @ (k.mT @ v)) / (q @ k.sum(-2, keepdim=True).mT)


def two_results(q, k, v):
    s = q @ k.mT * 0.2
    logarithm = torch.logsumexp(s, -1, keepdim=True)
    return {"o": torch.exp(s - logarithm) @ v, "lse": logarithm.squeeze(-1)}


def window(q, k, v):
    i = torch.arange(q.shape[-2], device=q.device)
    seen = (i[None] <= i[:, None]) & (i[:, None] - i[None] < 7)
    return torch.where(seen, q @ k.mT, -torch.inf).softmax(-1) @ v


def relative(q, k, v, table):
    i = torch.arange(q.shape[-2], device=q.device)
    bias = table[(i[:, None] - i[None]).clamp(-4, 4) + 4].permute(2, 0, 1)
    return (q @ k.mT + bias).softmax(-1) @ v


def pair_bias(q, k, v, z, w):
    return (q @ k.mT + torch.einsum("bijc,hc->bhij", z, w)).softmax(-1) @ v


def normed(q, k, v):
    q = q * torch.rsqrt(q.pow(2).mean(-1, keepdim=True) + 1e-6)
    return torch.softmax(q @ k.mT, -1) @ v


def received(q, k):
    return torch.softmax(q @ k.mT, -1).sum(-2)


def symmetric(a):
    return a + a.transpose(-1, -2) * torch.arange(a.shape[-1], device=a.device)


def axial(x):
    y = x.transpose(1, 2)
    return torch.softmax(x @ x.mT, -1) @ x \
        + torch.softmax(y @ y.mT, -1).matmul(y).transpose(1, 2)


def part(q, k, v):
    return torch.softmax(q[:, :, 3:9] @ k[..., ::2, :].mT, -1) @ v[..., ::2, :]


def rotary(q, k, v, cosine, sine):
    def turned(x):
        first, second = x.chunk(2, dim=-1)
        return x * cosine + torch.cat((-second, first), dim=-1) * sine
    return torch.softmax(turned(q) @ turned(k).mT / 8, -1) @ v


def packed(x, w):
    q, k, v = (x @ w.T).split(w.shape[0] // 3, dim=-1)
    return torch.softmax(q @ k.mT / 8, -1) @ v


def cases(draw, batch=2, heads=4, queries=17, keys=None, depth=16):
    """(function, arguments) of each; `draw(*shape)` makes a tensor. Those of a single length take
    `queries`."""
    def tensors(*rows):
        return [draw(batch, heads, n, depth) for n in rows]
    n, width = queries, heads * depth
    m = keys or n
    for function in (plain, by_hand, linear, two_results, normed, part):
        yield function, tensors(n, m, m)
    for function in (masked, window):
        yield function, tensors(n, n, n)
    yield received, tensors(n, m)
    yield evoformer, [*(draw(batch, 3, heads, rows, depth) for rows in (n, m, m)),
                      draw(batch, 3, m), draw(batch, heads, n, m),
                      draw(batch, 3, heads, n, depth)]
    yield projected, [draw(batch, n, width), *(draw(width, width) / width ** 0.5 for _ in range(4))]
    yield heads_in_columns, [draw(batch, n, width) for _ in range(3)]
    yield shared_heads, [draw(batch, heads, n, depth),
                         *(draw(batch, heads // 2, m, depth) for _ in range(2))]
    yield alibi, [*tensors(n, n, n), draw(heads)]
    yield differential, [*tensors(n, m, n, m, m), 0.3]
    yield with_itself, [draw(batch, n, depth)]
    yield relative, [*tensors(n, n, n), draw(9, heads)]
    yield pair_bias, [*tensors(n, n, n), draw(batch, n, n, 8), draw(heads, 8)]
    yield rotary, [*tensors(n, n, n), draw(n, depth), draw(n, depth)]
    yield packed, [draw(batch, n, depth), draw(3 * depth, depth) / depth ** 0.5]
    yield symmetric, [draw(heads, n, n)]
    yield axial, [draw(batch, n // 2, n, depth)]
