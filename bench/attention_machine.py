"""What the figures were taken on, and the time that a call takes on the host."""
import ctypes
import os
import pathlib
import re
import statistics
import subprocess
import time

import attention_cells as cells
import attnc

HOST_CALLS, HOST_BATCHES = 200, 20


def describe(torch, target):
    import triton
    query = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True, text=True, check=True).stdout.splitlines()[0]
    gpu, driver = query.split(", ")
    cpu = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {"gpu": gpu, "driver": driver, "cuda": cuda_version(), "nvrtc": nvrtc_version(target),
            "cpu": f"{cpu[1] if cpu else 'unknown'}, {os.cpu_count()} threads",
            "attnc": attnc.version(), "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(), "triton": triton.__version__,
            "torch_cuda": torch.version.cuda}


def cuda_version():
    """The CUDA version that the driver supports."""
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def nvrtc_version(target):
    """As the PTX that it writes says."""
    ptx = attnc.compile(cells.LIBRARY / "full.json", target=target).text("ptx")
    return re.search(r"release [\d.]+, V([\d.]+)", ptx)[1]


def microseconds(torch, call):
    """Of one call on the host: the median of batches that are short enough to be queued whole."""
    batches = []
    for _ in range(HOST_BATCHES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(HOST_CALLS):
            call()
        batches.append((time.perf_counter() - start) / HOST_CALLS * 1e6)
    torch.cuda.synchronize()
    return statistics.median(batches)


def host_times(torch, target):
    """At a size at which the GPU does next to nothing."""
    q, k, v = (torch.randn(1, 1, 64, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    o = torch.empty_like(q)
    program = attnc.compile(cells.LIBRARY / "full.json", target=target)
    plan = program.bind(q=q, k=k, v=v, out=o)
    stream = torch.cuda.current_stream().cuda_stream
    with torch.no_grad():
        return {
            "plan": microseconds(torch, lambda: plan(stream)),
            "program": microseconds(torch, lambda: program(q=q, k=k, v=v, out=o)),
            "sdpa": microseconds(torch, lambda: torch.nn.functional.scaled_dot_product_attention(
                q, k, v)),
        }
