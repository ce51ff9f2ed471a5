#!/usr/bin/env python3
"""Times programs and their peers, one after another, in a process that can be killed: cliffs.py starts it and
sends each as a line of JSON; a line with its times comes back.

The first launch of a program runs under PyTorch's profiler, for the times of single kernels. The others are
queued while the GPU waits, so that the host's time does not count.
"""
import collections
import gc
import json
import math
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
from cliff import difference, inputs, peers, specs  # noqa: E402

LONG_MS = 1000  # what takes this long is not launched again
MOST_KERNELS = 8  # that are listed
REPEATS, MOST_REPEATS, BUDGET_MS = 3, 20, 30
QUEUED_MS = 2  # of the host, while the GPU waits

# Programs stay loaded: the profiler remembers the names of kernels by their handles, and the driver gives the
# handles of kernels that were unloaded to others.
KEPT = []


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


def timed(call):
    began = time.perf_counter()
    ms, kernels = profiled(call)
    wall = 1e3 * (time.perf_counter() - began)
    if (ms or wall) > LONG_MS:
        return {"ms": ms or wall, "launches": 1, "kernels": kernels}
    return {**repeated(call), "kernels": kernels}


def repeated(call):
    """The median of a few launches, of no more than the host can queue while the GPU waits."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    host = 1e3 * (time.perf_counter() - began)
    torch.cuda.synchronize()
    usual = 1e3 * (time.perf_counter() - began)
    if usual > LONG_MS:
        return {"ms": usual, "launches": 1}
    count = max(REPEATS, min(MOST_REPEATS, int(BUDGET_MS / usual), int(QUEUED_MS / host)))
    return {"ms": statistics.median(queued_launches.milliseconds(torch, [call] * count)), "launches": count}


def bound(job):
    """The inputs of a program, and the program bound to them."""
    content = specs.read(pathlib.Path(job["spec"]))
    program = attnc.load(job["program"])
    KEPT.append(program)
    tensors = inputs.make(torch, content, job["shape"])
    return tensors, program.bind(**tensors, **inputs.params_of(content))


def measure(job):
    _, plan = bound(job)
    return {**timed(plan), "workspace_bytes": plan.workspace_bytes}


def measure_peer(job):
    """The time of a peer, and how far its results are from those of attnc if they are to be compared."""
    tensors, plan = bound(job)
    call = peers.call_of(job["peer"], job["name"], tensors, job["text"])
    results, found = call(), {}
    if job["compare"]:
        found["difference"] = difference.relative(results, plan())
        if not math.isfinite(found["difference"]):
            return {"error": "its results are not finite where those of attnc are"}
    del plan, results
    return {**found, **repeated(call)}


def answer(job):
    if job == "machine":
        return attention_machine.describe(torch, "sm_90a")
    try:
        with torch.no_grad():
            return measure_peer(job) if "peer" in job else measure(job)
    except torch.OutOfMemoryError:
        return {"error": "needs more memory than the GPU has"}
    except Exception as error:  # whatever it is, the next program is timed
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0], "ended": not usable()}
    finally:
        gc.collect()
        usable()  # gives back what is free


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
