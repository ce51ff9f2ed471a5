"""The section on attention beside its peers, from what attention.py writes."""
from report_parts import bars, figure, table

PEER_NAMES = {"cudnn": "cuDNN", "flash": "Flash", "flex": "Flex", "efficient": "efficient"}
NAMES = {"attnc": "attnc", "trial": "by hand", **PEER_NAMES}
COLOURS = {"attnc": "#1f6f8b", "trial": "#8bb8c6", "cudnn": "#b9c4c9", "flash": "#d8c9a8",
           "flex": "#cfc0d6", "efficient": "#cfc0d6"}
TRIAL_SHARE = 0.97
COLD_AIM_S = 1.0

METHOD = """All candidates of a cell ran in one process, in turns: {rounds} rounds, each in another
order, of batches of launches that were queued behind a kernel that waits, timed by device events on
random inputs that exceed the L2 cache. TFLOP/s count 4 D operations for each pair of query and key
that the mask leaves, over all B and H, and are those of the median launch; in brackets the
quartiles. *Peers* are PyTorch's `scaled_dot_product_attention` on cuDNN and on Flash, above 256
columns on its memory-efficient kernel, and `flex_attention` through `torch.compile` with its block
masks; a dash is a peer that does not compute the cell. *By hand* is the best of the kernels that
were written for comparison, where there
is one.
"""
ERRORS = """Errors in the same run, at every element of the output, against attention in float64 on
the same inputs: root mean square relative to that of the output. *Bits* says whether attnc gave the
same bits in every run. A cell is wrong if they differ, if an element was not written, or if attnc
errs by over 5 % more than cuDNN (than the best peer, where cuDNN does not compute the cell).
"""


def peers_of(report):
    """The peers that a report's cells have, by what they are called."""
    found = {name for cell in report["cells"] for name in cell["candidates"]}
    return {peer: name for peer, name in PEER_NAMES.items() if peer in found}


def measured(cell, name):
    """The record of a candidate if it was measured, else nothing."""
    record = cell["candidates"].get(name, {})
    return record if "tflops" in record else None


def best_trial(cell):
    """(name, record) of the fastest kernel written by hand, or nothing."""
    trials = [(name, x) for name, x in cell["candidates"].items()
              if name.startswith("trial:") and "tflops" in x]
    return max(trials, key=lambda item: item[1]["tflops"], default=None)


def title(cell):
    heads = str(cell["h"]) if cell["h"] == cell["hk"] else f"{cell['h']}/{cell['hk']}"
    mask = "" if cell["mask"] == "full" else f", {cell['mask']}"
    kind = "" if cell["kind"] == "plain" else f", {cell['kind']}"
    queries = cell.get("queries", cell["n"])
    few = f" Q{queries}" if queries < cell["n"] else ""
    return f"D{cell['d']} N{cell['n']}{few} B{cell['b']} H{heads} {cell['dtype']}{kind}{mask}"


def speed(record):
    if not record:
        return "-"
    low, high = figure(record["tflops_low"]), figure(record["tflops_high"])
    return f"{figure(record['tflops'])} ({low}-{high})"


def speed_rows(report):
    for cell in report["cells"]:
        trial = best_trial(cell)
        ours = measured(cell, "attnc")
        yield [title(cell), cell["spec"], figure(ours["ms"]) if ours else "failed", speed(ours),
               *(speed(measured(cell, peer)) for peer in peers_of(report)),
               speed(trial and trial[1])]


def aim_rows(report):
    """Aim, and what became of it. A cell has an aim in TFLOP/s, or as a share of another cell;
    every cell should be faster than its peers, and near the kernel written by hand."""
    cells = {cell["name"]: cell for cell in report["cells"]}
    for cell in report["cells"]:
        ours = measured(cell, "attnc")
        if not ours:
            continue
        base = measured(cells.get(cell["against"], {"candidates": {}}), "attnc")
        if cell["aim"]:
            yield [title(cell), f"{cell['aim']} TFLOP/s", f"{figure(ours['tflops'])} TFLOP/s",
                   yes(ours["tflops"] >= cell["aim"])]
        elif cell["share"] and base:
            share = ours["tflops"] / base["tflops"]
            yield [title(cell), f"{cell['share']:.2f} of {title(cells[cell['against']])}",
                   f"{share:.2f}", yes(share >= cell["share"])]


def yes(reached):
    return "yes" if reached else "no"


def summary(report):
    """In how many cells attnc is faster than each peer, and near the kernel written by hand."""
    lines = []
    for who, name in (*peers_of(report).items(), ("trial", "the kernel written by hand")):
        shares = []
        for cell in report["cells"]:
            trial = best_trial(cell)
            other = trial and trial[1] if who == "trial" else measured(cell, who)
            if other and measured(cell, "attnc"):
                shares.append(other["speed_of_attnc"])
        if shares:
            least = TRIAL_SHARE if who == "trial" else 1
            reached = sum(share >= least for share in shares)
            lines.append(f"- {'at least 0.97 of' if who == 'trial' else 'faster than'} {name} in "
                         f"{reached} of {len(shares)} cells ({min(shares):.2f} to "
                         f"{max(shares):.2f} times as fast, round by round)")
    return "attnc is\n\n" + "\n".join(lines) + "\n" if lines else ""


def scientific(record, key):
    return f"{record['errors'][key]:.1e}" if record else "-"


def error_rows(report):
    for cell in report["cells"]:
        ours = measured(cell, "attnc")
        if not ours:
            yield [title(cell), cell["candidates"]["attnc"]["error"]] + ["-"] * 8
            continue
        kernels = ours["kernels"]
        spilled = sum(k["spill_bytes"] for k in kernels)
        yield [title(cell), scientific(ours, "relative_rms") + ("" if cell["ok"] else " **wrong**"),
               *(scientific(measured(cell, peer), "relative_rms") for peer in peers_of(report)),
               scientific(ours, "max_abs"), "same" if ours["same_bits"] else "**differ**",
               ", ".join(str(k["registers"]) for k in kernels),
               f"{spilled} B" if spilled else "none", figure(ours["compile_s"])]


def times(report):
    lines = []
    for cold in report.get("cold", []):
        low, high = figure(min(cold["seconds"])), figure(max(cold["seconds"]))
        lines.append(
            f"- {cold['spec']}, {cold['dtype']}, D{cold['d']}, from the text of the spec to a "
            f"loaded kernel in a new process without caches: {figure(cold['median'])} s ({low} to "
            f"{high}; aim: {figure(COLD_AIM_S)} s), {figure(cold['nvrtc'])} s of it in NVRTC")
    if host := report.get("host_us"):
        lines.append(
            f"- Host time of a call from Python: {figure(host['plan'])} us for a plan that is "
            f"launched again, {figure(host['program'])} us with all checks, "
            f"{figure(host['sdpa'])} us for PyTorch's SDPA")
    return "\n".join(lines) + "\n"


def section(name, report):
    """The title and the text."""
    machine = report["machine"]
    target = report["cells"][0]["target"]
    aims = list(aim_rows(report))
    what = "Heads above 256 columns" if min(c["d"] for c in report["cells"]) > 256 else "Attention"
    return f"{what} beside its peers: {machine['gpu']}, target {target}", "\n".join([
        f"{report['date']}, commit {report['commit']}, attnc {machine['attnc']}; driver "
        f"{machine['driver']} (CUDA {machine['cuda']}), NVRTC {machine['nvrtc']};\n"
        f"{machine['cpu']}; PyTorch {machine['torch']}, cuDNN {machine['cudnn']}, Triton "
        f"{machine['triton']}. All figures: `bench/results/{name}`.\n",
        summary(report),
        table(["cell", "spec", "ms", "attnc", *peers_of(report).values(), "by hand"],
              speed_rows(report)),
        METHOD.format(rounds=report["rounds"]),
        *([table(["cell", "aim", "measured", "reached"], aims)] if aims else []),
        ERRORS,
        table(["cell", "error", *peers_of(report).values(), "largest", "bits", "registers", "spills",
               "compiled in s"], error_rows(report)),
        times(report)])


def picture(report):
    groups = []
    for cell in report["cells"]:
        trial = best_trial(cell)
        found = {"attnc": measured(cell, "attnc"), "trial": trial and trial[1],
                 **{peer: measured(cell, peer) for peer in peers_of(report)}}
        groups.append((title(cell), [(who, x["tflops"]) for who, x in found.items() if x]))
    return bars(f"Attention forward, TFLOP/s, {report['machine']['gpu']}", groups, NAMES, COLOURS)
