"""The section on the first call in a process, from what first_call.py writes."""
from report_parts import table

METHOD = """The first `flex_attention` of a process, from the call until its result is there, with PyTorch and
attnc.torch, or FlexAttention, imported: with empty caches (cold), and with those that a process before has filled
(warm).
"""


def section(name, report):
    """The title and the text."""
    machine = report["machine"]
    batch, heads, length, depth = report["shape"]
    calls = {(cell["name"], cell["way"]): cell for cell in report["cells"]}
    names = dict.fromkeys(cell["name"] for cell in report["cells"])
    rows = [[name, *(f"{calls[name, way][state]['call']:.3f}" for way in ("attnc", "peer")
                     for state in ("cold", "warm"))] for name in names]
    rounds = report["rounds"]
    parts = [METHOD,
             f"{report['date']}, commit {report['commit']}, attnc {machine['attnc']}; driver {machine['driver']}, "
             f"NVRTC {machine['nvrtc']},\nPyTorch {machine['torch']}; {machine['cpu']}. B{batch} H{heads} "
             f"N{length} D{depth}, bf16; {rounds} process{'es' if rounds > 1 else ''} for each figure. "
             f"Aims: {report['aims_s']['cold']:g} s cold, {report['aims_s']['warm']:g} s warm.\n"
             f"All figures: [{name}](../bench/results/{name}).\n",
             table(["function", "cold, s", "warm, s", "PyTorch's cold, s", "PyTorch's warm, s"], rows)]
    return f"The first call in a process: {machine['gpu']}", "\n".join(parts)


def picture(report):
    return None
