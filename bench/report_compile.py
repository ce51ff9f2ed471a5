"""The section on the time to compile, from what compile_time.py writes."""
from report_parts import table

AIM_TOTAL_S, AIM_OURS_S = 2.0, 0.1

METHOD = """Each spec of the library from its text to a program with all kernels as cubin, in a process of
its own, {runs}. *attnc* is the time in the compiler's own code, *NVRTC* the time
waited for NVRTC, *kernels* its sum over the kernels, which are compiled side by side, *cpu* what all
threads took together.
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


def section(name, report):
    machine = report["machine"]
    rows = [[row["spec"], row["target"], milliseconds(row["ours"]), milliseconds(row["nvrtc"]),
             milliseconds(row["kernels"]), milliseconds(row["total"]), milliseconds(row["cpu"])]
            for row in sorted(report["specs"], key=lambda row: -row["total"])]
    rounds = report["rounds"]
    method = METHOD.format(runs="one run" if rounds == 1 else f"medians of {rounds} runs")
    if report["load"] > QUIET_LOAD:
        method += LOADED.format(load=report["load"])
    body = (method +
            f"\nMeasured on {machine['cpu']}, attnc {machine['attnc']}, commit {report['commit']}, "
            f"{report['date']}: [{name}](../bench/results/{name}).\n\n" +
            table(["aim", "", "measured", "reached"], aims(report)) + "\n" +
            table(["spec", "target", "attnc", "NVRTC", "kernels", "total", "cpu"], rows))
    return "Time to compile", body
