"""The section on the portable kernels, from what portable.py writes."""
from report_parts import bars, figure, table

PEER_NAMES = {"cudnn": "SDPA, cuDNN", "flash": "SDPA, Flash", "efficient": "SDPA, efficient"}
COLOURS = {"attnc": "#1f6f8b", "cudnn": "#b9c4c9", "flash": "#d8c9a8", "efficient": "#cfc0d6"}
AIM_CELL = {"dtype": "bf16", "d": 128, "b": 4, "h": 16, "n": 4096}
THROUGHPUT_AIMS = {"full": 200, "causal": 150}  # TFLOP/s
COLD_AIM_S = 1.0

METHOD = """Times are the median of many launches, by device events, after warm-up, on random
inputs. TFLOP/s count 4 D operations for each pair of query and key that the mask
leaves, over all B and H: two products. f32 products are three tf32 products each,
which the count leaves out. Every timed output was compared with the float64
evaluation of the spec, at {compared} of its elements; *error* is the largest
error there divided by the tolerance that is derived for that element: below 1
passes. On random inputs over many keys that tolerance is wide; inputs with a
planted key, which find lost keys, are the tests' work. Peers are PyTorch's
`scaled_dot_product_attention` by backend, in the same run and after our cells; a
dash is a cell that was not measured for that peer.{caveat}
"""
# Of measurements that do not say that the peers' launches were queued.
WAITED_FOR = """

**The peers' figures include PyTorch's time on the host**, so the peers are faster than they look
here: each call was waited for before the next, and the events enclose the call. Our launches were
waited for too, but from C++ there is less to do. By how much this lowers the peers was not
measured; it matters most where a call takes little time."""


def title(cell):
    mask = cell["mask"]
    width = f", {mask}" if " " in mask else ""
    return f"{cell['spec']}{width}"


def heads(cell):
    return str(cell["h"]) if cell["h"] == cell["hk"] else f"{cell['h']}/{cell['hk']}"


def aims(report):
    rows = []
    for spec, aim in THROUGHPUT_AIMS.items():
        for cell in report["cells"]:
            found = cell["spec"] == spec and all(cell[k] == v for k, v in AIM_CELL.items())
            if found and "error" not in cell:
                rows.append([f"{spec}, bf16, D128, B4 H16 N4096", f"at least {aim} TFLOP/s",
                             f"{figure(cell['tflops'])} TFLOP/s",
                             "yes" if cell["tflops"] >= aim and cell["ok"] else "no"])
    for cold in report["cold"]:
        low, high = min(cold["seconds"]), max(cold["seconds"])
        rows.append([f"{cold['spec']}, bf16, D128: text of the spec to loaded kernel, no caches",
                     f"at most {figure(COLD_AIM_S)} s",
                     f"{figure(cold['median'])} s ({figure(low)} to {figure(high)})",
                     "yes" if high <= COLD_AIM_S else
                     "in the median" if cold["median"] <= COLD_AIM_S else "no"])
    return table(["aim of this stage", "aim", "measured", "reached"], rows)


def method(report):
    counts = [cell["compared"] for cell in report["cells"] if "compared" in cell]
    return METHOD.format(compared=f"{min(counts)} to {max(counts)}",
                         caveat="" if report.get("peer_timing") == "queued" else WAITED_FOR)


def peer_text(cell, peer):
    measured = cell["peers"].get(peer, {})
    return figure(measured["tflops"]) if "tflops" in measured else "-"


def cell_rows(report):
    for cell in report["cells"]:
        shape = [title(cell), cell["dtype"], str(cell["d"]), str(cell["b"]), heads(cell),
                 str(cell["n"])]
        if "error" in cell:
            yield shape + [f"failed: {cell['error']}"] + ["-"] * (4 + len(PEER_NAMES))
            continue
        registers = ", ".join(str(k["registers"]) for k in cell["kernels"])
        spilled = sum(k["spill_stores"] + k["spill_loads"] for k in cell["kernels"])
        yield shape + [
            figure(cell["ms"]), figure(cell["tflops"]),
            figure(cell["ratio"]) + ("" if cell["ok"] else " **wrong**"), registers,
            f"{spilled} B" if spilled else "none",
            *(peer_text(cell, peer) for peer in PEER_NAMES)]


def section(name, report):
    """The title and the text."""
    machine = report["machine"]
    peers = (f"peers: PyTorch {machine['torch']}, cuDNN {machine['cudnn']}" if "torch" in machine
             else "no peers")
    targets = sorted({c["target"] for c in report["cells"] if "target" in c})
    head = ["spec", "type", "D", "B", "H", "N", "ms", "TFLOP/s", "error", "registers", "spills",
            *PEER_NAMES.values()]
    heading = f"Portable kernels: {machine['gpu']}, target {', '.join(targets)}"
    return heading, "\n".join([
        f"{report['date']}, commit {report['commit']}, attnc {machine['attnc']}; driver "
        f"{machine['driver']} (CUDA {machine['cuda']}), NVRTC {machine['nvrtc']};\n"
        f"{machine['cpu']}; {peers}. All figures: `bench/results/{name}`.\n",
        aims(report), method(report),
        table(head, cell_rows(report)),
        "The last columns are TFLOP/s. The time to a loaded kernel counts from the text of the "
        "spec: reading\nand checking it, the passes, NVRTC with its caches and the driver's off, "
        "and loading the module;\nopening the device comes before it. It is the median of "
        f"{len(report['cold'][0]['seconds'])} new processes, with the range.\n"])


def groups_of(report):
    """Per cell that was measured: its label and (who, TFLOP/s)."""
    for cell in report["cells"]:
        if "error" in cell:
            continue
        label = f"{title(cell)}, {cell['dtype']}, D{cell['d']}, N{cell['n']}"
        peers = ((peer, cell["peers"].get(peer, {}).get("tflops")) for peer in PEER_NAMES)
        yield label, [("attnc", cell["tflops"])] + [p for p in peers if p[1] is not None]


def picture(report):
    waited = "" if report.get("peer_timing") == "queued" else "; peers with PyTorch's host time"
    return bars(f"Attention forward, TFLOP/s, {report['machine']['gpu']}{waited}",
                list(groups_of(report)), {"attnc": "attnc", **PEER_NAMES}, COLOURS)
