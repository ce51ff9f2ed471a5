"""The section on functions of PyTorch, from what functions.py writes."""
from report_parts import figure, table

METHOD = """Functions that [attnc.torch](pytorch.md) traces into one program, bf16. Times are medians of
queued launches. Errors are Frobenius norms of the difference to the same in float64, relative to that of
the result.
"""
NO_PEER = "-"


def beside(cell):
    peer = cell.get("peer_ms")
    return [figure(cell["ms"]), figure(peer) if peer else NO_PEER,
            f"{peer / cell['ms']:.2f}" if peer else NO_PEER,
            f"{cell['error']:.1e}", f"{cell['peer_error']:.1e}" if "peer_error" in cell else NO_PEER]


def section(name, report):
    """The title and the text."""
    machine = report["machine"]
    flex = [c for c in report["cells"] if c["kind"] == "flex"]
    plain = [c for c in report["cells"] if c["kind"] == "plain"]
    shape, small = flex[0]["shape"], plain[0]["shape"]
    faster = sum(c["ms"] < c["peer_ms"] for c in plain)
    parts = [METHOD,
             f"{report['date']}, commit {report['commit']}, attnc {machine['attnc']}; driver {machine['driver']}, "
             f"NVRTC {machine['nvrtc']},\nPyTorch {machine['torch']}; {machine['cpu']}. "
             f"All figures: [{name}](../bench/results/{name}).\n",
             f"**flex_attention** beside PyTorch's own, compiled; B{shape['batch']} H{shape['heads']} "
             f"N{shape['length']} D{shape['depth']}. A dash: PyTorch fails to compile it.\n",
             table(["function", "ms", "PyTorch's, ms", "times as fast", "error", "PyTorch's"],
                   [[c["name"], *beside(c)] for c in flex]),
             f"**Attention in plain PyTorch**, by `fuse`, beside torch.compile; B{small['batch']} "
             f"H{small['heads']} N{small['queries']} D{small['depth']} "
             "([functions](../tests/python/plain_attention.py)). "
             f"Faster in {faster} of {len(plain)}; the error of PyTorch's is that of its operations one by one.\n",
             table(["function", "ms", "torch.compile, ms", "times as fast", "error", "PyTorch's"],
                   [[c["name"], *beside(c)] for c in plain]),
             "**The host's time of a call**, with tensors of 128 rows.\n",
             table(["way in", "us"], [[way, f"{us:.1f}"] for way, us in report["host_us"].items()])]
    return f"Functions of PyTorch: {machine['gpu']}", "\n".join(parts)


def picture(report):
    return None
