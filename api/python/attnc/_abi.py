"""The C interface of libattnc.so (attnc_c.h) in ctypes."""
import ctypes
import functools
import os
import pathlib

from attnc import _nvrtc, errors

ABI_VERSION = 1


def struct(name, *fields):
    """A struct of attnc_c.h; `struct_size` is filled in where it is the first field."""
    def initialise(self, **values):
        if fields[0][0] == "struct_size":
            values["struct_size"] = ctypes.sizeof(type(self))
        ctypes.Structure.__init__(self, **values)
    return type(name, (ctypes.Structure,), {"_fields_": list(fields), "__init__": initialise})


text, size_t, pointer = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p
i32, i64, f64 = ctypes.c_int32, ctypes.c_int64, ctypes.c_double
extents = ctypes.POINTER(i64)

CompileOptions = struct(
    "CompileOptions", ("struct_size", size_t), ("target", text), ("set", ctypes.POINTER(text)),
    ("set_count", size_t), ("schedule", text), ("keep_texts", i32),
    ("no_cache", i32), ("allow_mlir", i32))
TensorInfo = struct(
    "TensorInfo", ("struct_size", size_t), ("name", text), ("dtype", i32), ("is_output", i32),
    ("dims", ctypes.POINTER(text)), ("rank", size_t), ("align", i64))
DimInfo = struct("DimInfo", ("struct_size", size_t), ("name", text), ("extent", i64))
ParamInfo = struct(
    "ParamInfo", ("struct_size", size_t), ("name", text), ("dtype", i32), ("has_default", i32))
KernelInfo = struct(
    "KernelInfo", ("struct_size", size_t), ("name", text), ("form", text), ("schedule", text),
    ("notes", text), ("threads", i32), ("shared_bytes", i32), ("registers", i32),
    ("spill_store_bytes", i32), ("spill_load_bytes", i32), ("stack_bytes", i32),
    ("static_shared_bytes", i32))
Timings = struct(
    "Timings", ("struct_size", size_t), ("total", f64), ("nvrtc", f64), ("origin", i32),
    ("kernels_compiled", i32), ("kernels_cached", i32))
JitOptions = struct("JitOptions", ("struct_size", size_t), ("capacity", size_t))
JitStats = struct(
    "JitStats", ("struct_size", size_t), ("programs", size_t), ("hits", ctypes.c_uint64),
    ("waits", ctypes.c_uint64), ("misses", ctypes.c_uint64), ("dropped", ctypes.c_uint64))
TensorSlot = struct(
    "TensorSlot", ("name", text), ("data", pointer), ("dtype", i32), ("rank", i32),
    ("shape", extents), ("strides", extents))
ParamSlot = struct(
    "ParamSlot", ("name", text), ("is_integer", i32), ("integer", i64), ("real", f64))
Arguments = struct(
    "Arguments", ("struct_size", size_t), ("tensors", ctypes.POINTER(TensorSlot)),
    ("tensor_count", size_t), ("params", ctypes.POINTER(ParamSlot)), ("param_count", size_t),
    ("memory_budget", extents))

# Functions by name: the type of the result and those of the arguments.
_FUNCTIONS = {
    "abi_version": (i32,), "version": (text,),
    "error_kind": (i32, pointer), "error_message": (text, pointer),
    "error_remedy": (text, pointer), "error_destroy": (None, pointer),
    "compile_text": (pointer, text, text, size_t, pointer, pointer),
    "compile_file": (pointer, text, pointer, pointer),
    "whole_spec": (pointer, text, text, size_t, pointer), "free_text": (None, pointer),
    "program_destroy": (None, pointer), "program_save": (pointer, pointer, text),
    "program_load": (pointer, text, pointer),
    "program_entry": (pointer, pointer, text, pointer),
    "program_entry_count": (size_t, pointer), "program_entry_name": (text, pointer, size_t),
    "jit_create": (pointer, pointer, pointer), "jit_destroy": (None, pointer),
    "jit_text": (pointer, pointer, text, text, size_t, pointer, pointer),
    "jit_file": (pointer, pointer, text, pointer, pointer),
    "jit_get_stats": (pointer, pointer, pointer), "jit_clear": (None, pointer),
    "program_name": (text, pointer), "program_target": (text, pointer),
    "program_text": (pointer, pointer, i32, size_t, pointer),
    "program_timings": (pointer, pointer, pointer),
    "program_shape": (pointer, pointer, pointer, size_t, pointer),
    "load": (pointer, pointer, i32, pointer), "loaded_device": (i32, pointer),
    "warm_up": (pointer, pointer),
    "loaded_destroy": (None, pointer),
    "bind": (pointer, pointer, pointer, pointer),
    "plan_workspace_bytes": (i64, pointer),
    "plan_launch": (pointer, pointer, pointer, pointer),
    "plan_launch_at": (pointer, pointer, pointer, pointer, pointer),
    "plan_destroy": (None, pointer),
}
for _what in ("tensor", "dim", "param", "kernel"):
    _FUNCTIONS[f"program_{_what}_count"] = (size_t, pointer)
    _FUNCTIONS[f"program_{_what}"] = (pointer, pointer, size_t, pointer)


def _candidates():
    if chosen := os.environ.get("ATTNC_LIBRARY"):
        return [pathlib.Path(chosen)]
    package = pathlib.Path(__file__).resolve().parent
    beside = package.parent  # the folder that Python has the package from
    return [folder / name
            for folder in (package / "lib",                       # a wheel
                           beside, beside.parent / "lib",         # a bundle
                           beside.parent.parent,                  # an installation
                           (beside / "../../build/lib").resolve())
            for name in ("libattnc.so", f"libattnc.so.{ABI_VERSION}")]


@functools.lru_cache(maxsize=None)
def library():
    """The library, loaded at the first call."""
    candidates = _candidates()
    path = next((p for p in candidates if p.exists()), None)
    if path is None:
        raise errors.Unavailable("libattnc.so was not found: " + ", ".join(map(str, candidates)),
                                 "build it (./dev build attnc_shared) or name it in ATTNC_LIBRARY")
    _nvrtc.name_wheel()
    loaded = ctypes.CDLL(str(path))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(loaded, "attnc_" + name)
        function.restype, function.argtypes = result, arguments
        setattr(loaded, name, function)
    if loaded.abi_version() != ABI_VERSION:
        raise errors.Unavailable(f"{path} has version {loaded.abi_version()} of the C interface, "
                                 f"this package needs {ABI_VERSION}",
                                 "take both from one release")
    return loaded


def check(error):
    """Raises what a function of the library returned, if anything."""
    if not error:
        return
    known = library()
    kind = errors.BY_KIND.get(known.error_kind(error), errors.InternalError)
    message, remedy = (f(error).decode(errors="replace")
                       for f in (known.error_message, known.error_remedy))
    known.error_destroy(error)
    raise kind(message, remedy)


class Handle:
    """Something of the library, destroyed with this object."""

    def __init__(self, destroy):
        self.value = pointer()
        self._destroy = destroy

    def __del__(self):
        if self.value:
            self._destroy(self.value)


def version():
    """The version of attnc."""
    return library().version().decode()
