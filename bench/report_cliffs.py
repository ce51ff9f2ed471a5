"""The section on every spec beside its roofline, from what cliffs.py writes."""
from cliff import peers
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

PEERS = """*Beside it* is what PyTorch takes for the same tensors: the spec written in its operations
([torch_program.py](../bench/cliff/torch_program.py)) and compiled by torch.compile, and for some a peer that
was chosen by hand; of these the fastest whose results are those of attnc.
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
    found = peers.best(cell)
    if not found:
        return "-"
    return f"{found['name']} {figure(found['ms'])}" + (", faster" if found["ms"] < cell["ms"] else "")


def beside(cells):
    """What is said of the peers of cells; nothing where none has any."""
    cells = [cell for cell in cells if cell.get("peers")]
    if not cells:
        return []
    compared = [cell for cell in cells if peers.best(cell)]
    faster = [cell["name"] for cell in compared if peers.best(cell)["ms"] < cell["ms"]]
    slower = [cell["name"] for cell in compared if (x := peers.compiled(cell)) and x["ms"] < cell["ms"]]
    without = [f"- {cell['name']}: " + "; ".join(f"{x['name']}, {x['error']}" for x in cell["peers"])
               for cell in cells if cell not in compared]
    said = [PEERS, f"Of {len(compared)} specs of the library with a peer, {len(slower)} are behind "
                   f"torch.compile{listed(slower)}, and {len(faster)} behind any peer{listed(faster)}.\n"]
    return said + (["No peer counts for:\n", "\n".join(without) + "\n"] if without else [])


def listed(names):
    return f" ({', '.join(names)})" if names else ""


def cells(report, wanted):
    """Those that were timed of the groups that are wanted, the worst first."""
    return sorted((cell for cell in report["cells"] if wanted(cell["group"]) and "fraction" in cell),
                  key=lambda cell: cell["fraction"])


def commits(report):
    """Which figures are of another commit than that of the report."""
    said = []
    for group in GROUPS:
        cells = [cell for cell in report["cells"] if cell["group"] == group]
        for commit in sorted({cell.get("commit", report["commit"]) for cell in cells} - {report["commit"]}):
            names = [cell["name"] for cell in cells if cell.get("commit") == commit]
            of = "" if len(names) == len(cells) else f" of {', '.join(names)}"
            said.append(f"Of the group {group} the figures{of} are of commit {commit}.\n")
    return said


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
             METHOD, shares(report), *beside(library), "The library, the worst first:\n",
             table(head, map(row, library))]
    if others:
        parts += [f"The worst {min(WORST, len(others))} of the others:\n",
                  table(head, map(row, others[:WORST]))]
    parts += commits(report)
    if failed:
        parts += ["Not timed:\n", "\n".join(failed) + "\n"]
    return f"Every spec beside its roofline: {machine['gpu']}", "\n".join(parts)


def picture(_):
    return None
