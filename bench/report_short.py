"""The section on short sequences, from what short_sequences.py writes."""
from report_parts import figure, table

METHOD = """Many sequences of a few hundred positions, bf16
([how](schedules.md#short-sequences)). Times are medians of queued launches. *Peer*: cuDNN; where a bias is
added, PyTorch's memory-efficient kernel with the bias in memory. Errors are Frobenius norms of the
difference to float64, relative to that of the result.
"""


def beside(cell):
    return [figure(cell["ms"]), figure(cell["peer_ms"]), f"{cell['peer_ms'] / cell['ms']:.2f}",
            f"{cell['error'] / cell['peer_error']:.2f}"]


HEADS = ["ms", "peer, ms", "times as fast", "error, of the peer's"]


def section(name, report):
    """The title and the text."""
    machine = report["machine"]
    evoformer = [[f"D{c['d']}", f"{figure(c['aim_ms'])}{' missed' if c['ms'] > c['aim_ms'] else ''}", *beside(c)]
                 for c in report["evoformer"]]
    windows = [[str(c["length"]), *beside(c)] for c in report["windows"]]
    plain = [[f"D{c['d']} N{c['length']}{' causal' if c['causal'] else ''}", f"{c['tflops']:.0f}", *beside(c)]
             for c in report["plain"]]
    parts = [METHOD,
             f"{report['date']}, commit {report['commit']}, attnc {machine['attnc']}; driver {machine['driver']}, "
             f"NVRTC {machine['nvrtc']},\nPyTorch {machine['torch']}. "
             f"All figures: [{name}](../bench/results/{name}).\n",
             "**Rows of the Evoformer**: bias of pairs, mask and gate; B4 N256 H4, 256 positions.\n",
             table(["head dim", "aim", *HEADS], evoformer),
             "**Windows** with a bias for each head: 4096 of them, H4 D32.\n",
             table(["positions", *HEADS], windows),
             "**Plain**: B64 H16, of 1024 positions B16.\n",
             table(["cell", "TFLOP/s", *HEADS], plain)]
    return f"Short sequences: {machine['gpu']}", "\n".join(parts)


def picture(report):
    return None
