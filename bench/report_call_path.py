"""The section on what a call takes on the host, from what call_path.py writes."""
from report_parts import table

METHOD = """How long the host is busy with a call, in microseconds, at sizes at which the GPU does
next to nothing: 64 queries and keys of one head, and for a decoding step one query of 8 heads beside 8192
keys, which are folded in parts. Medians of {rounds} rounds of {calls} calls, in which C++, Python and
PyTorch's attention alternate. *Aim* is what was set out for.
"""

# What the cases are called on the page, in its order.
CASES = {"plan": "a plan launched again", "plan_at": "a plan at other addresses",
         "full": "a whole call", "full_out": "a whole call, the output given",
         "decode": "a decoding step's plan", "decode_own": "the same with scratch memory of its own",
         "decode_full": "a decoding step as a whole call", "sdpa": "PyTorch's attention",
         "sdpa_decode": "PyTorch's attention, the decoding step",
         "empty": "an empty kernel, launched through the driver alone"}


def picture(report):
    return None


def cell(report, language, case):
    value = report["microseconds"][language].get(case)
    if value is None:
        return "-"
    aim = report["aims"].get(language, {}).get(case)
    return f"{value:.1f}" + (f" (aim {aim})" if aim else "")


def section(file, report):
    machine = report["machine"]
    rows = [[title, *(cell(report, language, case) for language in ("cpp", "python"))]
            for case, title in CASES.items()
            if any(case in cases for cases in report["microseconds"].values())]
    where = ", ".join(str(machine[key]) for key in ("gpu", "cpu", "torch") if key in machine)
    text = METHOD.format(rounds=report["rounds"], calls=report["calls"])
    text += f"\n{where}; {report['commit']}, {report['date']}; [{file}](../bench/results/{file}).\n\n"
    return "What a call takes", text + table(["", "C++", "Python"], rows)
