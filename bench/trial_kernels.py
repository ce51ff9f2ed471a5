"""Hand-written kernels to compare with, from a folder: meta.json, and a cubin for each entry; of
heads above 256 columns, metas.json (WideTrial).

An entry has `name`, `D`, `causal`, `BM` and `BN` (the tile), `threads`, `smem` (bytes), `sched` (0:
one block for each tile of rows, else persistent), perhaps `cap` and `Gs` (head groups to try). The
entry point is `fwd`: tensor maps of q, k, v, o; o; lse (f32); N; row tiles of a head; of all heads;
heads of a group; the scale of the logarithm to base 2; a scale before the cap; a counter that is 0
and left 0; room for a profile.
"""
import ctypes
import json
import math
import pathlib

BF16, SWIZZLE_128, PROMOTE_L2_128 = 9, 3, 2  # of cuTensorMapEncodeTiled
MAX_DYNAMIC_SHARED = 8  # of cuFuncSetAttribute
GROUP_BYTES = 32 << 20  # heads whose K and V stay in L2 together


class TrialError(Exception):
    pass


def entries(folder, c):
    """The kernels in `folder` that compute cell `c`."""
    if c.h != c.hk or c.kind not in ("plain", "lse", "softcap") or c.mask not in ("full", "causal"):
        return []
    if c.d > 256:
        metas = pathlib.Path(folder) / "metas.json"
        return [m for m in (json.loads(metas.read_text()) if metas.exists() else [])
                if m["D"] == c.d and m["T"] == c.dtype and bool(m["causal"]) == (c.mask == "causal")]
    if c.dtype != "bf16":
        return []
    meta = json.loads((pathlib.Path(folder) / "meta.json").read_text())
    return [m for m in meta if m["D"] == c.d and bool(m["causal"]) == (c.mask == "causal")
            and bool(m.get("cap")) == (c.kind == "softcap")]


class Trial:
    """A loaded kernel."""

    def __init__(self, torch, folder, meta):
        self.torch, self.meta = torch, meta
        self.cuda = ctypes.CDLL("libcuda.so.1")
        image = (pathlib.Path(folder) / (meta["name"] + ".cubin")).read_bytes()
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.cuda.cuModuleLoadData(ctypes.byref(self.module), image))
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), self.module, b"fwd"))
        self._check(self.cuda.cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED, meta["smem"]))
        self.counter = torch.zeros(4, dtype=torch.int32, device="cuda")
        self.profile = torch.zeros(4096, dtype=torch.int64, device="cuda")

    def _check(self, result):
        if result:
            raise TrialError(f"CUDA error {result} in trial kernel {self.meta['name']}")

    def _tensor_map(self, tensor, rows):
        """A map of [heads, n, d] with boxes of 64 columns, and its address."""
        b, h, n, d = tensor.shape
        memory = ctypes.create_string_buffer(192)
        address = (ctypes.addressof(memory) + 63) & ~63
        self._check(self.cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(address), BF16, 3, ctypes.c_void_p(tensor.data_ptr()),
            (ctypes.c_uint64 * 3)(d, n, b * h), (ctypes.c_uint64 * 2)(2 * d, 2 * d * n),
            (ctypes.c_uint32 * 3)(64, rows, 1), (ctypes.c_uint32 * 3)(1, 1, 1), 0, SWIZZLE_128,
            PROMOTE_L2_128, 0))
        return memory, address

    def bind(self, inputs, o, lse, cap=0.0):
        """A function that launches on PyTorch's current stream."""
        meta, (b, h, n, d) = self.meta, o.shape
        maps = [self._tensor_map(t, rows) for t, rows in (
            (inputs["q"], meta["BM"]), (inputs["k"], meta["BN"]), (inputs["v"], meta["BN"]),
            (o, 16))]
        row_tiles = -(-n // meta["BM"])
        tiles = row_tiles * b * h
        group = (meta.get("Gs") or [None])[0] or max(1, min(b * h, GROUP_BYTES // (4 * n * d)))
        while b * h % group:
            group -= 1
        scale = 1 / math.sqrt(d)
        before = scale / cap if cap else 0.0
        values = [ctypes.c_uint64(o.data_ptr()), ctypes.c_uint64(lse.data_ptr()), ctypes.c_int(n),
                  ctypes.c_int(row_tiles), ctypes.c_int(tiles), ctypes.c_int(group),
                  ctypes.c_float((cap or scale) * math.log2(math.e)), ctypes.c_float(before),
                  ctypes.c_uint64(self.counter.data_ptr()),
                  ctypes.c_uint64(self.profile.data_ptr())]
        addresses = [address for _, address in maps] + [ctypes.addressof(v) for v in values]
        arguments = (ctypes.c_void_p * len(addresses))(*addresses)
        processors = self.torch.cuda.get_device_properties(0).multi_processor_count
        grid = tiles if meta["sched"] == 0 else min(tiles, processors)
        kept = (maps, values)

        def launch():
            stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
            self._check(self.cuda.cuLaunchKernel(
                self.function, grid, 1, 1, meta["threads"], 1, 1, meta["smem"], stream, arguments,
                None))
            return kept and {"o": o}
        return launch


class WideTrial(Trial):
    """A kernel for wide heads, named as its file. Its arguments: tensor maps of q, k, v, each with
    the axes 64 columns, rows, D / 64, heads and a box of meta's rows and blocks of columns; o; N;
    the scale of the logarithm to base 2."""

    def __init__(self, torch, folder, meta):
        self.torch, self.meta = torch, meta
        self.cuda = ctypes.CDLL("libcuda.so.1")
        image = (pathlib.Path(folder) / (meta["name"] + ".cubin")).read_bytes()
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.cuda.cuModuleLoadData(ctypes.byref(self.module), image))
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), self.module,
                                                  meta["name"].encode()))
        self._check(self.cuda.cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED, meta["smem"]))

    def _wide_map(self, tensor, box):
        b, h, n, d = tensor.shape
        memory = ctypes.create_string_buffer(192)
        address = (ctypes.addressof(memory) + 63) & ~63
        f16 = 6
        self._check(self.cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(address), f16 if tensor.dtype == self.torch.float16 else BF16, 4,
            ctypes.c_void_p(tensor.data_ptr()), (ctypes.c_uint64 * 4)(64, n, d // 64, b * h),
            (ctypes.c_uint64 * 3)(2 * d, 128, 2 * d * n),
            (ctypes.c_uint32 * 4)(64, box[0], box[1], 1), (ctypes.c_uint32 * 4)(1, 1, 1, 1), 0,
            SWIZZLE_128, 3, 0))
        return memory, address

    def bind(self, inputs, o, lse, cap=0.0):
        meta, (b, h, n, d) = self.meta, o.shape
        maps = [self._wide_map(inputs[name], meta[name + "box"]) for name in "qkv"]
        values = [ctypes.c_uint64(o.data_ptr()), ctypes.c_int(n),
                  ctypes.c_float(math.log2(math.e) / math.sqrt(d))]
        addresses = [address for _, address in maps] + [ctypes.addressof(v) for v in values]
        arguments = (ctypes.c_void_p * len(addresses))(*addresses)
        blocks = n // meta["grid_rows"] * (meta.get("gmul") or (2 if meta["dsplit"] else 1))
        kept = (maps, values)

        def launch():
            stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
            self._check(self.cuda.cuLaunchKernel(
                self.function, blocks, b * h, 1, meta.get("threads", 384), 1, 1, meta["smem"],
                stream, arguments, None))
            return kept and {"o": o}
        return launch


def load(torch, folder, meta):
    """The kernel of an entry."""
    return (WideTrial if "qbox" in meta else Trial)(torch, folder, meta)
