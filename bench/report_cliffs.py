"""The section on every spec beside its roofline, from what cliffs.py writes."""
from report_parts import figure, table

WORST = 25  # of the specs outside of the library that are listed
GROUPS = {"library": "the library", "tests": "specs of the tests", "found": "specs that once showed a cliff",
          "random": "programs drawn at random"}

METHOD = """Forward programs at sizes of real use, in the median of a few launches by device events. *Share* is the
roofline divided by the time. The roofline is the least time for what the spec computes: products at the
rate that tensor cores were seen to reach for their type (those accurate to f32 are three of 16 bits),
exponentials and other operations at the rates of their units, inputs read once and outputs written once,
whichever of these takes longest, and 5 us for a launch. Products that kernels compute again and values
between kernels are not in it. Where the bounds of a mask are not known, marked *, everything is counted, and the
share may be above 1; so it may where a division is done as a product with a reciprocal.
"""


def shares(report):
    rows = [[words, str(found["timed"]), str(found["failed"]), figure(found["median"]),
             figure(found["worst_tenth"]), figure(found["worst"])]
            for group, words in GROUPS.items() if (found := report["distribution"].get(group))]
    return table(["group", "timed", "failed", "median share", "worst tenth below", "worst"], rows)


def slowest(cell):
    """The kernel that takes most of the time: its share, its form, and the reason for it."""
    timed = cell["timed"].get("kernels")
    if not timed:
        return "-", cell["kernels"][0]["form"] if cell["kernels"] else "-"
    said = {kernel["name"]: kernel["why_generic"] for kernel in cell["kernels"]}
    why = said.get(timed[0]["name"])
    return f"{100 * timed[0]['share']:.0f} %", timed[0]["form"] + (f": {why}" if why else "")


def row(cell):
    stopped = "> " if "timed_out_s" in cell["timed"] else ""
    star = "*" if cell["bounds_unknown"] else ""
    shape = " ".join(f"{dim}={size}" for dim, size in cell["shape"].items())
    return [cell["name"], shape, stopped + figure(cell["ms"]), figure(cell["roofline_ms"]), cell["limit"],
            figure(cell["fraction"]) + star, *slowest(cell), peer(cell)]


def peer(cell):
    found = cell.get("peer")
    return f"{found['name']} {figure(found['ms'])}" if found and "ms" in found else "-"


def cells(report, wanted):
    """Those that were timed of the groups that are wanted, the worst first."""
    return sorted((cell for cell in report["cells"] if wanted(cell["group"]) and "fraction" in cell),
                  key=lambda cell: cell["fraction"])


def section(name, report):
    """The title and the text."""
    machine = report["machine"]
    head = ["spec", "shape", "ms", "roofline, ms", "limit", "share", "longest kernel", "its form", "beside it, ms"]
    library = cells(report, lambda group: group == "library")
    others = cells(report, lambda group: group != "library")
    failed = [f"- {cell['group']}, {cell['name']}: {cell['error']}" for cell in report["cells"]
              if "error" in cell]
    parts = [f"{report['date']}, commit {report['commit']}, attnc {machine['attnc']}; driver "
             f"{machine['driver']} (CUDA {machine['cuda']}), NVRTC {machine['nvrtc']}. "
             f"All figures: [{name}](../bench/results/{name}).\n",
             METHOD, shares(report), "The library, the worst first:\n", table(head, map(row, library))]
    if others:
        parts += [f"The worst {min(WORST, len(others))} of the others:\n",
                  table(head, map(row, others[:WORST]))]
    if earlier := sorted({cell["commit"] for cell in report["cells"] if "commit" in cell}):
        parts += [f"Of the group found the figures are of commit {', '.join(earlier)}.\n"]
    if failed:
        parts += ["Not timed:\n", "\n".join(failed) + "\n"]
    return f"Every spec beside its roofline: {machine['gpu']}", "\n".join(parts)


def picture(_):
    return None
