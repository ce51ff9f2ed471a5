"""The section on the time to compile, from what compile_time.py writes."""
from report_parts import figure, table

AIM_TOTAL_S, AIM_OURS_S = 2.0, 0.1

METHOD = """Each spec of the library from its text to {what}, in a process of
its own, {runs}. *attnc* is the time in the compiler's own code, *NVRTC* the time
waited for NVRTC, *kernels* its sum over the kernels, which are compiled side by side, *cpu* what all
threads took together. Equal kernels are compiled once.
"""


WHAT_ALL = "a program with all kernels as cubin"
WHAT_FIRST = "what a first launch waits for: the passes of all variants, the first one's cubins"
ALL_VARIANTS = """
*All variants* is the same for a program as `attnc compile` writes it, which has the kernels of every
variant; *compiled twice* counts those of its kernels that spilled and were made smaller.
"""

PASSES = """
Where attnc's own time goes for *{spec}* ({target}), the slowest, in ms, as `attnc compile --mlir-timing`
reports it: the passes, the lowering of nests to kernels and to CUDA C++, and what checks and writes
IR, reports and the manifest.

"""

LOADED = """
The machine had other work at the time, {load:.1f} processes on average before the first run: all but
*cpu* have waiting in them.
"""
QUIET_LOAD = 0.5


def milliseconds(seconds):
    return f"{1e3 * seconds:.0f} ms"


def picture(report):
    return None


def aims(report):
    rows = []
    for name, what, aim in (("ours", "attnc's own passes", AIM_OURS_S),
                            ("total", "text to cubin", AIM_TOTAL_S)):
        worst = report["worst"][name]
        rows.append([f"{what}, the slowest spec", f"below {milliseconds(aim)}",
                     f"{milliseconds(worst['seconds'])} ({worst['spec']}, {worst['target']})",
                     "yes" if worst["seconds"] < aim else "no"])
    return rows


def own_passes(report):
    slowest = max(report["specs"], key=lambda row: row["ours"])
    if "passes" not in slowest:
        return ""
    return PASSES.format(**slowest) + table(
        list(slowest["passes"]), [[figure(1e3 * seconds) for seconds in slowest["passes"].values()]])


def section(name, report):
    machine = report["machine"]
    all_variants = all("all_total" in row for row in report["specs"])
    head = ["spec", "target", "attnc", "NVRTC", "kernels", "total", "cpu"]
    rows = [[row["spec"], row["target"], milliseconds(row["ours"]), milliseconds(row["nvrtc"]),
             milliseconds(row["kernels"]), milliseconds(row["total"]), milliseconds(row["cpu"])]
            for row in sorted(report["specs"], key=lambda row: -row["total"])]
    by_name = {(row["spec"], row["target"]): row for row in report["specs"]}
    if all_variants:
        head += ["all variants", "cpu", "compiled twice"]
        for cells in rows:
            row = by_name[cells[0], cells[1]]
            cells += [milliseconds(row["all_total"]), milliseconds(row["all_cpu"]),
                      f"{row['all_repeats']:.0f}"]
    rounds = report["rounds"]
    method = METHOD.format(what=WHAT_FIRST if all_variants else WHAT_ALL,
                           runs="one run" if rounds == 1 else f"medians of {rounds} runs")
    if all_variants:
        method += ALL_VARIANTS
    if "count" in report["specs"][0]:
        head.insert(2, "nests")
        for cells in rows:
            cells.insert(2, f"{by_name[cells[0], cells[1]]['count']:.0f}")
    if report["load"] > QUIET_LOAD:
        method += LOADED.format(load=report["load"])
    body = (method +
            f"\nMeasured on {machine['cpu']}, attnc {machine['attnc']}, commit {report['commit']}, "
            f"{report['date']}: [{name}](../bench/results/{name}).\n\n" +
            table(["aim", "", "measured", "reached"], aims(report)) + "\n" +
            table(head, rows) + own_passes(report))
    return "Time to compile", body
