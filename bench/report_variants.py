"""The section on the variants of the library, from what variants.py writes."""
from report_parts import figure, table

METHOD = """Each candidate of a row ran in one process, in turns: {rounds} rounds of batches of launches, timed by
device events; times are medians. TFLOP/s count the products of the pairs that a mask leaves; formulas
that can be ordered in several ways have none. *attnc* has the schedule that it chooses by itself. Rows of
every head are compared with the formula in float64: *error* is the largest root mean square of an output
of attnc, relative to that output.
"""
SECTIONS = {
    "masks": "**Masks**, B1 H16 N16384 D128 in bf16. FlexAttention has its block mask, made beforehand.",
    "few queries": "**Few queries beside many keys**, D128 in bf16: the keys in parts, whose states a second "
                   "kernel merges. *One pass* and the numbers of parts are schedules that were asked for.",
    "wide heads": "**Wide heads**, B2 N4096 in bf16, 48, 32 and 16 heads.",
    "FFPA's variants": "**FFPA's variants** beside its plain forward, B1 H48 N8192 in f16.",
    "float32": "**In float32**, B1 H8 N4096 D64, in parts and in one pass.",
    "formulas": "**Formulas** that no peer has a kernel for, beside what PyTorch makes of them.",
}


def candidate(name, record):
    if "error" in record:
        return f"{name}: does not run"
    speed = f", {figure(record['tflops'])} TFLOP/s" if "tflops" in record else ""
    return f"{name} {figure(1e3 * record['ms'])} us{speed}"


def rows(report, section):
    for cell in report["cells"]:
        if cell["section"] != section:
            continue
        found = cell["candidates"]
        ours = found["attnc"]
        mark = "" if cell["ok"] else " **wrong**"
        if "error" in ours:
            yield [cell["name"], "failed", "-", "-", "-"]
            continue
        yield [cell["name"], figure(1e3 * ours["ms"]),
               figure(ours["tflops"]) if "tflops" in ours else "-",
               "; ".join(candidate(name, x) for name, x in found.items() if name != "attnc") or "-",
               f"{max(x['relative_rms'] for x in ours['errors'].values()):.1e}{mark}"]


def section(name, report):
    """The title and the text."""
    machine = report["machine"]
    parts = [METHOD.format(rounds=report["rounds"]),
             f"{report['date']}, commit {report['commit']}, attnc {machine['attnc']}; driver "
             f"{machine['driver']} (CUDA {machine['cuda']}), NVRTC {machine['nvrtc']};\n"
             f"PyTorch {machine['torch']}, cuDNN {machine['cudnn']}, Triton {machine['triton']}. "
             f"All figures: [{name}](../bench/results/{name}).\n"]
    for key, words in SECTIONS.items():
        content = list(rows(report, key))
        if content:
            parts += [words + "\n", table(["cell", "attnc, us", "TFLOP/s", "beside it", "error"], content)]
    found = {cell["section"] for cell in report["cells"]}
    what = next(iter(found)) if len(found) == 1 else "Variants"
    return f"{what}: {machine['gpu']}", "\n".join(parts)


def picture(report):
    return None
