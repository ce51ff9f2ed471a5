#!/usr/bin/env python3
"""Times programs, one after another, in a process that can be killed: cliffs.py starts it and sends each
program as a line of JSON; a line with its times comes back.

The first launch runs under PyTorch's profiler, for the times of single kernels. The others are queued
while the GPU waits, so that the host's time does not count.
"""
import collections
import json
import os
import pathlib
import statistics
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parents[1]
for folder in (BENCH, BENCH.parent / "api/python", BENCH.parent / "python"):
    sys.path.insert(0, str(folder))

import attention_machine  # noqa: E402
import attnc  # noqa: E402
import torch  # noqa: E402
import queued_launches  # noqa: E402
from cliff import inputs, specs  # noqa: E402

LONG_MS = 1000  # a program that takes this long is not launched again
MOST_KERNELS = 8  # that are listed
REPEATS, MOST_REPEATS, BUDGET_MS = 3, 20, 30


def profiled(call):
    """(milliseconds, kernels): of a launch and of each kernel in it, the longest first; milliseconds are
    None where the profiler sees no kernels."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    times = collections.defaultdict(list)
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times[event.name].append(event.time_range.elapsed_us() / 1e3)
    total = sum(map(sum, times.values()))
    kernels = [{"name": name, "ms": sum(x), "share": sum(x) / total, "launches": len(x)}
               for name, x in times.items()]
    kernels.sort(key=lambda kernel: -kernel["ms"])
    return total or None, kernels[:MOST_KERNELS]


def median_ms(call, count):
    return statistics.median(queued_launches.milliseconds(torch, [call] * count))


def timed(call):
    began = time.perf_counter()
    ms, kernels = profiled(call)
    wall = 1e3 * (time.perf_counter() - began)
    if (ms or wall) > LONG_MS:
        return {"ms": ms or wall, "launches": 1, "kernels": kernels}
    usual = queued_launches.milliseconds(torch, [call])[0]
    count = max(REPEATS, min(MOST_REPEATS, int(BUDGET_MS / max(usual, 1e-3))))
    return {"ms": median_ms(call, count), "launches": count, "kernels": kernels}


def measure(job):
    content = specs.read(pathlib.Path(job["spec"]))
    program = attnc.load(job["program"])
    tensors = inputs.make(torch, content, job["shape"])
    plan = program.bind(**tensors, **inputs.params_of(content))
    times = {**timed(plan), "workspace_bytes": plan.workspace_bytes}
    if peer := job.get("peer"):
        times["peer"] = peer_times(peer, tensors)
    return times


def peer_times(name, tensors):
    """The time of what PyTorch has for a spec; None where that is nothing."""
    from cliff import peers
    if name not in peers.BY_SPEC:
        return None
    try:
        what, call = peers.call_of(name, tensors)
        call()
        return {"name": what, "ms": median_ms(call, REPEATS)}
    except Exception as error:  # a peer that cannot is no defect of the program
        return {"name": peers.BY_SPEC[name], "error": f"{type(error).__name__}: {error}".splitlines()[0]}


def answer(job):
    if job == "machine":
        return attention_machine.describe(torch, "sm_90a")
    try:
        with torch.no_grad():
            times = measure(job)
        torch.cuda.empty_cache()
        return times
    except Exception as error:  # whatever it is, the next program is timed
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0], "ended": not usable()}


def usable():
    """Whether the context is as good as new: a kernel that has failed leaves none of it."""
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return True
    except RuntimeError:
        return False


def main():
    replies = os.fdopen(os.dup(1), "w")  # what libraries print does not get between
    os.dup2(2, 1)
    torch.zeros(1, device="cuda")
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
