"""Attention in float64 on the GPU, a tile of rows of one head at a time, and errors against it."""
import math

import attention_cells as cells

TILE_ELEMENTS = 1 << 26  # of a float64 tile of scores: 512 MB


def tiles(c):
    """(batch, head, first row, row beyond the last)."""
    rows = max(1, min(c.queries, TILE_ELEMENTS // c.n))
    for b in range(c.b):
        for h in range(c.h):
            for first in range(0, c.queries, rows):
                yield b, h, first, min(c.queries, first + rows)


def reference_tile(torch, c, inputs, extra, tile):
    """Outputs and logsumexp of one tile, in float64, from the inputs as they are stored."""
    b, h, first, last = tile
    group = c.h // c.hk
    q = inputs["q"][b, h, first:last].double()
    k, v = (inputs[name][b, h // group].double() for name in "kv")
    i = torch.arange(first, last, device=q.device)[:, None]
    j = torch.arange(c.n, device=q.device)[None, :]
    s = (q @ k.T) * (1 / math.sqrt(c.d))
    score, mask = cells.score_function(c, extra), cells.mask_function(c)
    if score:
        s = score(s, b, h, i, j)
    if mask:
        s = s.masked_fill(~mask(b, h, i, j), -math.inf)
    lse = torch.logsumexp(s, -1)
    return torch.exp(s - lse[:, None]) @ v, lse


def errors(torch, c, inputs, extra, outputs):
    """For each name in `outputs` (name: {"o": tensor, "lse": tensor or absent}): the relative root
    mean square error of o, its largest absolute error, that of lse, and how many elements are not
    finite. Every element of every output is compared."""
    sums = {name: {"square": 0, "o": 0, "lse": 0, "wrong": 0} for name in outputs}
    square = torch.zeros((), dtype=torch.float64, device="cuda")
    for tile in tiles(c):
        b, h, first, last = tile
        o, lse = reference_tile(torch, c, inputs, extra, tile)
        square += o.square().sum()
        for name, tensors in outputs.items():
            actual = tensors["o"][b, h, first:last].double()
            difference = (actual - o).abs()
            total = sums[name]
            total["square"] = total["square"] + difference.square().sum()
            total["o"] = torch.maximum(difference.max(), torch.as_tensor(total["o"]).to(o))
            total["wrong"] = total["wrong"] + (~torch.isfinite(actual)).sum()
            if "lse" in tensors:
                worst = (tensors["lse"][b, h, first:last].double() - lse).abs().max()
                total["lse"] = torch.maximum(worst, torch.as_tensor(total["lse"]).to(o))
    result = {}
    for name, total in sums.items():
        result[name] = {"relative_rms": math.sqrt(float(total["square"]) / float(square)),
                        "max_abs": float(total["o"]), "not_finite": int(total["wrong"])}
        if "lse" in outputs[name]:
            result[name]["lse_max_abs"] = float(total["lse"])
    return result
