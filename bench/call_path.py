#!/usr/bin/env python3
"""How long the host is busy with a call, from C++ and from Python, beside PyTorch's attention: a plan
launched again, a whole call, and a decoding step whose keys are folded in parts. Rounds alternate
between all; figures are medians, in microseconds.
usage: call_path.py [--output FILE] [--commit C] [--rounds N] [--calls N] [--target T] [--dry-run]"""
import argparse
import array
import datetime
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "python"), str(ROOT / "api/python")]
import attnc  # noqa: E402
import report_call_path  # noqa: E402

SPEC = ROOT / "kernels_spec/full.json"
# What is aimed at on an H100: microseconds by language and case.
AIMS = {"cpp": {"plan": 3, "full": 10, "decode": 6}, "python": {"plan": 5, "full": 20}}


class HostTensor:
    """bf16 zeros in host memory: for a dry run, which has no PyTorch."""

    def __init__(self, *shape):
        self.shape = shape
        self.values = array.array("H", [0] * math.prod(shape))
        self.__array_interface__ = {"typestr": "<u2", "shape": shape, "version": 3,
                                    "data": (self.values.buffer_info()[0], False)}


def make_tensors(torch, heads, queries, keys):
    def tensor(length):
        shape = (1, heads, length, 64)
        if torch is None:
            return HostTensor(*shape)
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    return {"q": tensor(queries), "k": tensor(keys), "v": tensor(keys)}, tensor(queries)


def python_cases(torch, program):
    """Functions by name; the last is PyTorch's own call."""
    small, o = make_tensors(torch, 1, *((64, 64) if torch else (1, 1)))
    decode, decoded = make_tensors(torch, *((8, 1, 8192) if torch else (1, 1, 1)))
    plan, decode_plan = program.bind(**small, out=o), program.bind(**decode, out=decoded)
    cases = {"plan": plan, "full_out": lambda: program(**small, out=o), "decode": decode_plan,
             "decode_full": lambda: program(**decode, out=decoded)}
    if torch:
        attention = torch.nn.functional.scaled_dot_product_attention
        cases["full"] = lambda: program(**small)
        cases["sdpa"] = lambda: attention(small["q"], small["k"], small["v"])
        cases["sdpa_decode"] = lambda: attention(decode["q"], decode["k"], decode["v"])
    return cases


def microseconds(torch, call, calls):
    synchronize = torch.cuda.synchronize if torch else lambda: None
    call()
    synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    seconds = time.perf_counter() - start
    synchronize()
    return seconds / calls * 1e6


def describe(torch, target):
    if torch:
        import attention_machine
        return attention_machine.describe(torch, target)
    cpu = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {"cpu": f"{cpu[1] if cpu else 'unknown'}, {os.cpu_count()} threads",
            "attnc": attnc.version()}


def measure(torch, target, rounds, calls):
    binary = next((p for p in (ROOT / "bin/call_path", ROOT / "build/bin/call_path")
                   if p.exists()), None)
    if binary is None:
        sys.exit("call_path is not built: ./dev build call_path")
    program = attnc.compile(SPEC, target=target)
    cases = python_cases(torch, program)
    samples = {"cpp": [], "python": []}
    with subprocess.Popen([binary, SPEC, target, str(calls)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        for _ in range(rounds):
            child.stdin.write("round\n")
            child.stdin.flush()
            line = child.stdout.readline()
            if not line:
                sys.exit(child.wait() or 1)  # it has said why
            samples["cpp"].append(json.loads(line))
            samples["python"].append({name: microseconds(torch, call, calls)
                                      for name, call in cases.items()})
        child.stdin.close()
    return {language: {name: round(statistics.median(each[name] for each in taken), 2)
                       for name in taken[0]}
            for language, taken in samples.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--dry-run", action="store_true",
                        help="on the target cpu, without PyTorch: that everything runs")
    arguments = parser.parse_args()
    torch, target = None, "cpu"
    if not arguments.dry_run:
        import torch
        target = arguments.target
    times = measure(torch, target, arguments.rounds, arguments.calls)
    result = {"kind": "call_path", "machine": describe(torch, target), "target": target,
              "commit": arguments.commit, "date": datetime.date.today().isoformat(),
              "rounds": arguments.rounds, "calls": arguments.calls, "aims": AIMS,
              "microseconds": times}
    print(*report_call_path.section("call-path.json", result), sep="\n\n")
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
