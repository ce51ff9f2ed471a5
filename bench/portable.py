#!/usr/bin/env python3
"""Measures attnc on the GPU of this machine and, in the same run, PyTorch's attention beside it.

Each cell is one `attnc run --time --check`: the median of many launches by device events, after
warm-up, on random inputs, and the check of the output under the tolerance that the evaluator
derives. Cells are prepared and checked side by side; `attnc` takes turns for the timing itself.
The peers come after that, one at a time, by events too.

usage: portable.py --attnc build/bin/attnc --commit COMMIT --output FILE.json
"""
import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import queued_launches

Cell = collections.namedtuple(
    "Cell", "spec mask dtype d b h hk n set params peers", defaults=((), (), ()))

EXACT = ("cudnn", "flash")
COLD_SPECS = ("full", "causal", "softcap")
COLD_REPEATS = 3
CELL_LIMIT_S = 90


def cell(spec, d, h, *, b=4, n=4096, dtype="bf16", mask="full", hk=None, **more):
    return Cell(spec, mask, dtype, d, b, h, hk or h, n, **more)


CELLS = [
    cell("full", 64, 32, peers=EXACT),
    cell("causal", 64, 32, mask="causal", peers=EXACT),
    cell("full", 128, 16, peers=EXACT),
    cell("causal", 128, 16, mask="causal", peers=EXACT),
    cell("full", 256, 8, peers=EXACT),
    cell("causal", 256, 8, mask="causal", peers=EXACT),
    cell("full", 128, 16, b=1, n=16384, peers=EXACT),
    cell("causal", 128, 16, b=1, n=16384, mask="causal", peers=EXACT),
    cell("full", 128, 16, dtype="f16", peers=EXACT),
    cell("full", 64, 16, dtype="f32", peers=("efficient",)),
    cell("full", 128, 16, dtype="f32", peers=("efficient",)),
    # One batch: the bias alone has as many elements as eight tensors of the other cells.
    cell("bias", 128, 16, b=1, peers=("cudnn", "efficient")),
    cell("alibi", 128, 16, mask="causal"),
    cell("softcap", 128, 16),
    cell("sliding_window", 128, 16, mask="window 64"),
    cell("sliding_window", 128, 16, mask="window 1024", set=("w=1024",)),
    cell("prefix_lm", 128, 16, mask="prefix 32"),
    cell("prefix_lm", 128, 16, mask="prefix 256", params=("prefix=256",)),
    cell("gqa", 128, 16, hk=4, peers=EXACT),
    cell("lse", 128, 16, peers=("flash",)),
]


def visible_pairs(mask, n):
    """The (query, key) pairs of one head that the mask leaves."""
    kind, _, width = mask.partition(" ")
    rows = {
        "full": lambda i: n,
        "causal": lambda i: i + 1,
        "window": lambda i: min(i + 1, int(width)),
        "prefix": lambda i: max(i + 1, min(int(width), n)),
    }[kind]
    return sum(map(rows, range(n)))


def tflops(c, ms):
    """Two products, two operations for each element of a product, over the visible pairs."""
    return 4 * c.b * c.h * c.d * visible_pairs(c.mask, c.n) / (ms * 1e9)


def spec_arguments(c):
    sets = (f"d={c.d}", f"e={c.d}", f"T={c.dtype}") + tuple(c.set)
    return [c.spec] + [word for s in sets for word in ("--set", s)]


def environment(cache):
    """Neither attnc, NVRTC nor the driver may find what another process compiled."""
    return {**os.environ, "ATTNC_CACHE": "off", "CUDA_CACHE_DISABLE": "1",
            "CUDA_CACHE_PATH": cache}


def attnc_json(arguments):
    with tempfile.TemporaryDirectory() as cache:
        run = subprocess.run(arguments, capture_output=True, text=True, timeout=CELL_LIMIT_S,
                             env=environment(cache), check=False)
    # 1 is a failed check, which is recorded like a passed one.
    if run.returncode not in (0, 1) or not run.stdout:
        lines = run.stderr.strip().splitlines() or [f"exit code {run.returncode}"]
        raise RuntimeError(lines[0])
    return json.loads(run.stdout)


def kernels(attnc, target, c):
    with tempfile.TemporaryDirectory() as folder:
        result = attnc_json([attnc, "compile", *spec_arguments(c), "--target", target, "--emit",
                             "cubin", "-o", folder + "/kernel.cubin", "--json"])
    return [{"name": k["name"], "form": k["form"], **k["resources"]} for k in result["kernels"]]


def measure(attnc, target, c):
    shape = f"b={c.b},h={c.h},i={c.n},j={c.n}" + (f",hk={c.hk}" if c.spec == "gqa" else "")
    arguments = [attnc, "run", *spec_arguments(c), "--target", target, "--shape", shape,
                 "--time", "--check", "--json"]
    for param in c.params:
        arguments += ["--param", param]
    row = {**c._asdict(), "peers": {}}
    try:
        result = attnc_json(arguments)
        comparisons = result["check"]["comparisons"]
        row.update(target=result["target"], ms=result["milliseconds"],
                   tflops=tflops(c, result["milliseconds"]), ok=result["ok"],
                   ratio=max(x["max_ratio"] for x in comparisons),
                   compared=sum(x["elements"] for x in comparisons),
                   sampled=result["check"]["sampled"],
                   kernels=kernels(attnc, result["target"], c))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        row.update(ok=False, error=str(error))
    print(f"{c.spec:15} {c.mask:12} {c.dtype} D{c.d} B{c.b} H{c.h} N{c.n}: "
          + (row.get("error") or f"{row['ms']:.3f} ms  {row['tflops']:.0f} TFLOP/s  "
             f"error/tolerance {row['ratio']:.3f}"))
    return row


def cold(attnc, target, spec):
    """Seconds from the text of the spec to loaded kernels, a new process and no cache each time."""
    arguments = [attnc, "run", spec, "--set", "d=128", "--set", "e=128", "--target", target,
                 "--shape", "b=1,h=1,i=64,j=64", "--json"]
    results = [attnc_json(arguments) for _ in range(COLD_REPEATS)]
    seconds = [r["ready_seconds"] for r in results]
    print(f"cold {spec}: {statistics.median(seconds):.3f} s of {COLD_REPEATS}")
    return {"spec": spec, "dtype": "bf16", "d": 128, "seconds": seconds,
            "median": statistics.median(seconds)}


# --- peers -------------------------------------------------------------------------------------


def median_ms(torch, call):
    """In the median of some launches, which do not wait for PyTorch's work on the host."""
    first = queued_launches.milliseconds(torch, [call] * 3)[-1]
    count = max(3, min(200, int(500 / max(first, 1e-3))))
    return statistics.median(queued_launches.milliseconds(torch, [call] * count))


def measure_peer(torch, c, name):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
               "efficient": SDPBackend.EFFICIENT_ATTENTION}[name]
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[c.dtype]
    q, k, v = (torch.randn(c.b, heads, c.n, c.d, device="cuda", dtype=dtype)
               for heads in (c.h, c.hk, c.hk))
    bias = (torch.randn(c.b, c.h, c.n, c.n, device="cuda", dtype=dtype)
            if c.spec == "bias" else None)
    with torch.no_grad(), sdpa_kernel(backend):
        ms = median_ms(torch, lambda: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, is_causal=c.mask == "causal", enable_gqa=c.h != c.hk))
    return {"ms": ms, "tflops": tflops(c, ms)}


def measure_peers(rows):
    import torch
    for c, row in zip(CELLS, rows):
        for name in c.peers:
            try:
                row["peers"][name] = measure_peer(torch, c, name)
            except RuntimeError as error:
                row["peers"][name] = {"error": str(error).splitlines()[0]}
            print(f"{c.spec:15} {c.dtype} D{c.d} N{c.n} {name}: {row['peers'][name]}")
    return {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
            "torch_cuda": torch.version.cuda}


# --- the machine -------------------------------------------------------------------------------


def machine(attnc):
    query = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True, text=True, check=True).stdout.splitlines()[0]
    gpu, driver = query.split(", ")
    doctor = attnc_json([attnc, "doctor", "--json"])
    findings = {f["subject"]: f["text"] for f in doctor["findings"]}
    cuda = re.search(r"driver for CUDA ([\d.]+)", findings["gpu 0"])
    cpu = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {"gpu": gpu, "driver": driver, "cuda": cuda[1], "nvrtc": findings["nvrtc"].split()[0],
            "cpu": f"{cpu[1] if cpu else 'unknown'}, {os.cpu_count()} threads",
            "attnc": findings["attnc"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--attnc", required=True, type=pathlib.Path)
    parser.add_argument("--commit", required=True, help="of the binary")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--target", default="native")
    parser.add_argument("--workers", type=int, default=min(8, max(1, (os.cpu_count() or 2) // 2)))
    options = parser.parse_args()
    attnc = str(options.attnc.resolve())

    report = {"kind": "portable",
              "machine": machine(attnc),
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
              "commit": options.commit}

    def save():
        options.output.write_text(json.dumps(report, indent=1) + "\n")

    report["cold"] = [cold(attnc, options.target, spec) for spec in COLD_SPECS]
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        report["cells"] = list(pool.map(lambda c: measure(attnc, options.target, c), CELLS))
    save()  # what is measured stays if a peer brings the process down
    report["machine"].update(measure_peers(report["cells"]))
    report["peer_timing"] = "queued"
    save()
    failed = [row for row in report["cells"] if not row["ok"]]
    print(f"{len(CELLS)} cells, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
