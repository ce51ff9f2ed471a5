"""The section on f32 as halves, from what halves.py writes."""
from report_parts import figure, table

METHOD = """Products of f32 on warpgroups are sums of products of f16 ([how](notes/error-analysis.md#f32-as-halves)).
All kernels of a program count, also those that find maxima and round. Times are medians of queued
launches. Errors are Frobenius norms of the difference to float64, relative to that of the result.
*Efficient* is PyTorch's memory-efficient kernel; *plain* is PyTorch's operations in f16.
"""


def missed(cell):
    aim = cell["aim_ms"]
    return "-" if aim is None else f"{figure(aim)}{' missed' if cell['ms'] > aim else ''}"


def optional(cell, key):
    return figure(cell[key]) if key in cell else "-"


def ratio(cell, key):
    return f"{cell['error'] / cell[key]:.2f}" if key in cell else "-"


def near(cell):
    return ", values convolved" if cell.get("spec") == "nystrom_conv" else ""


def section(name, report):
    """The title and the text."""
    machine = report["machine"]
    attention = [[f"D{c['d']} N{c['n']}{' causal' if c['causal'] else ''}", figure(c["ms"]), missed(c),
                  optional(c, "efficient_ms"), ratio(c, "efficient_error")] for c in report["attention"]]
    inputs = [[f"D{c['d']}", c["inputs"], f"{c['error']:.1e}", ratio(c, "efficient_error")]
              for c in report["inputs"]]
    landmarks = [[f"B{c['b']} H{c['h']} N{c['n']} D{c['d']}, {c['m']} landmarks{near(c)}", figure(c["ms"]), missed(c),
                  optional(c, "plain_ms"), ratio(c, "plain_error")] for c in report["landmarks"]]
    parts = [METHOD,
             f"{report['date']}, commit {report['commit']}, attnc {machine['attnc']}; driver {machine['driver']}, "
             f"NVRTC {machine['nvrtc']},\nPyTorch {machine['torch']}. "
             f"All figures: [{name}](../bench/results/{name}).\n",
             "**f32**, B1 H8.\n",
             table(["cell", "ms", "aim", "efficient, ms", "error, of efficient's"], attention),
             "**Inputs that are hard on f32**, N4096.\n",
             table(["head dim", "inputs", "error", "of efficient's"], inputs),
             "**Landmarks**, f16, with six steps towards the pseudoinverse.\n",
             table(["cell", "ms", "aim", "plain, ms", "error, of plain's"], landmarks)]
    return f"Halves of f32: {machine['gpu']}", "\n".join(parts)


def picture(report):
    return None
