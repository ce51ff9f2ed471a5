"""attnc from Python: a spec becomes a program, a program is called with tensors.

    program = attnc.compile("kernels_spec/causal.json", target="sm_90a", set={"d": 128, "e": 128})
    o = program(q=q, k=k, v=v)                        # allocates o, as PyTorch or NumPy does
    program(q=q, k=k, v=v, out={"o": o}, scale=0.1)   # writes into o
    plan = program.bind(q=q, k=k, v=v, out={"o": o})  # checks once,
    plan()                                            # launches many times
    program.save("causal.program")                    # attnc.load reads it, also without NVRTC
    jit = attnc.Jit(); jit.compile(...)               # as attnc.compile, remembered
    program.backward(grad_o=g, ...)                   # gradients, if the spec has the key `grad`

GPU programs take PyTorch tensors and whatever has `__cuda_array_interface__`; programs for the
target "cpu" take NumPy arrays and whatever has `__array_interface__`. bf16, which NumPy lacks, is
uint16 there. Launches are asynchronous, on PyTorch's current stream unless `stream` is given.

This file needs the standard library and libattnc.so, which it looks for in ATTNC_LIBRARY (a file),
beside itself, and where the bundle, an installation and the build folder have it. Programs, plans
and jits may be used from several threads.
"""
import collections
import ctypes
import functools
import json
import os
import pathlib
import sys
import threading

__all__ = ["compile", "load", "version", "Jit", "Program", "Plan", "Error", "InvalidArgument",
           "SpecError", "Unavailable", "CompilationError", "InternalError"]

ABI_VERSION = 1


# --- errors ------------------------------------------------------------------------------------


class Error(Exception):
    """What went wrong (`message`) and what to do about it (`remedy`, may be empty)."""

    def __init__(self, message, remedy=""):
        super().__init__(message + ("\n  " + remedy if remedy else ""))
        self.message, self.remedy = message, remedy


class InvalidArgument(Error, ValueError):
    """Tensors, sizes, params, options or files do not fit."""


class SpecError(Error, ValueError):
    """The spec has errors; the message has their places."""


class Unavailable(Error, RuntimeError):
    """The machine lacks something: a GPU, its driver, NVRTC, memory, a permission."""


class CompilationError(Error, RuntimeError):
    """NVRTC or ptxas refused generated code."""


class InternalError(Error, RuntimeError):
    """A defect of attnc itself: please report it with the spec."""


_ERRORS = {1: InvalidArgument, 2: SpecError, 3: Unavailable, 4: CompilationError, 5: InternalError}


# --- the library -------------------------------------------------------------------------------


def _struct(name, *fields):
    """A struct of attnc_c.h; `struct_size` is filled in where it is the first field."""
    def initialise(self, **values):
        if fields[0][0] == "struct_size":
            values["struct_size"] = ctypes.sizeof(type(self))
        ctypes.Structure.__init__(self, **values)
    return type(name, (ctypes.Structure,), {"_fields_": list(fields), "__init__": initialise})


_text, _size, _pointer = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p
_i32, _i64, _f64 = ctypes.c_int32, ctypes.c_int64, ctypes.c_double
_extents = ctypes.POINTER(_i64)

_CompileOptions = _struct(
    "_CompileOptions", ("struct_size", _size), ("target", _text), ("set", ctypes.POINTER(_text)),
    ("set_count", _size), ("schedule", _text), ("keep_texts", _i32),
    ("no_cache", _i32), ("allow_mlir", _i32))
_TensorInfo = _struct(
    "_TensorInfo", ("struct_size", _size), ("name", _text), ("dtype", _i32), ("is_output", _i32),
    ("dims", ctypes.POINTER(_text)), ("rank", _size), ("align", _i64))
_DimInfo = _struct("_DimInfo", ("struct_size", _size), ("name", _text), ("extent", _i64))
_ParamInfo = _struct(
    "_ParamInfo", ("struct_size", _size), ("name", _text), ("dtype", _i32), ("has_default", _i32))
_KernelInfo = _struct(
    "_KernelInfo", ("struct_size", _size), ("name", _text), ("form", _text), ("schedule", _text),
    ("notes", _text), ("threads", _i32), ("shared_bytes", _i32), ("registers", _i32),
    ("spill_store_bytes", _i32), ("spill_load_bytes", _i32), ("stack_bytes", _i32),
    ("static_shared_bytes", _i32))
_Timings = _struct(
    "_Timings", ("struct_size", _size), ("total", _f64), ("nvrtc", _f64), ("origin", _i32),
    ("kernels_compiled", _i32), ("kernels_cached", _i32))
_JitOptions = _struct("_JitOptions", ("struct_size", _size), ("capacity", _size))
_JitStats = _struct(
    "_JitStats", ("struct_size", _size), ("programs", _size), ("hits", ctypes.c_uint64),
    ("waits", ctypes.c_uint64), ("misses", ctypes.c_uint64), ("dropped", ctypes.c_uint64))
_Tensor = _struct(
    "_Tensor", ("name", _text), ("data", _pointer), ("dtype", _i32), ("rank", _i32),
    ("shape", _extents), ("strides", _extents))
_Param = _struct(
    "_Param", ("name", _text), ("is_integer", _i32), ("integer", _i64), ("real", _f64))
_Arguments = _struct(
    "_Arguments", ("struct_size", _size), ("tensors", ctypes.POINTER(_Tensor)),
    ("tensor_count", _size), ("params", ctypes.POINTER(_Param)), ("param_count", _size),
    ("memory_budget", _extents))

# Functions by name: the type of the result and those of the arguments.
_FUNCTIONS = {
    "abi_version": (_i32,), "version": (_text,),
    "error_kind": (_i32, _pointer), "error_message": (_text, _pointer),
    "error_remedy": (_text, _pointer), "error_destroy": (None, _pointer),
    "compile_text": (_pointer, _text, _text, _size, _pointer, _pointer),
    "compile_file": (_pointer, _text, _pointer, _pointer),
    "program_destroy": (None, _pointer), "program_save": (_pointer, _pointer, _text),
    "program_load": (_pointer, _text, _pointer),
    "program_entry": (_pointer, _pointer, _text, _pointer),
    "program_entry_count": (_size, _pointer), "program_entry_name": (_text, _pointer, _size),
    "jit_create": (_pointer, _pointer, _pointer), "jit_destroy": (None, _pointer),
    "jit_text": (_pointer, _pointer, _text, _text, _size, _pointer, _pointer),
    "jit_file": (_pointer, _pointer, _text, _pointer, _pointer),
    "jit_get_stats": (_pointer, _pointer, _pointer), "jit_clear": (None, _pointer),
    "program_name": (_text, _pointer), "program_target": (_text, _pointer),
    "program_text": (_pointer, _pointer, _i32, _size, _pointer),
    "program_timings": (_pointer, _pointer, _pointer),
    "program_shape": (_pointer, _pointer, _pointer, _size, _pointer),
    "load": (_pointer, _pointer, _i32, _pointer), "loaded_device": (_i32, _pointer),
    "warm_up": (_pointer, _pointer),
    "loaded_destroy": (None, _pointer),
    "bind": (_pointer, _pointer, _pointer, _pointer),
    "plan_workspace_bytes": (_i64, _pointer),
    "plan_launch": (_pointer, _pointer, _pointer, _pointer),
    "plan_launch_at": (_pointer, _pointer, _pointer, _pointer, _pointer),
    "plan_destroy": (None, _pointer),
}
for _what in ("tensor", "dim", "param", "kernel"):
    _FUNCTIONS[f"program_{_what}_count"] = (_size, _pointer)
    _FUNCTIONS[f"program_{_what}"] = (_pointer, _pointer, _size, _pointer)


def _candidates():
    if chosen := os.environ.get("ATTNC_LIBRARY"):
        return [pathlib.Path(chosen)]
    here = pathlib.Path(__file__).resolve().parent
    installed, build = here.parent.parent, (here / "../../build/lib").resolve()
    return [folder / name for folder in (here, here.parent / "lib", installed, build)
            for name in ("libattnc.so", f"libattnc.so.{ABI_VERSION}")]


@functools.lru_cache(maxsize=None)
def _library():
    candidates = _candidates()
    path = next((p for p in candidates if p.exists()), None)
    if path is None:
        raise Unavailable("libattnc.so was not found: " + ", ".join(map(str, candidates)),
                          "build it (./dev build attnc_shared) or name it in ATTNC_LIBRARY")
    library = ctypes.CDLL(str(path))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, "attnc_" + name)
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    if library.abi_version() != ABI_VERSION:
        raise Unavailable(f"{path} has version {library.abi_version()} of the C interface, "
                          f"this file needs {ABI_VERSION}", "take both from one release")
    return library


def _check(error):
    """Raises what a function of the library returned, if anything."""
    if not error:
        return
    library = _library()
    kind = _ERRORS.get(library.error_kind(error), InternalError)
    message, remedy = (f(error).decode(errors="replace")
                       for f in (library.error_message, library.error_remedy))
    library.error_destroy(error)
    raise kind(message, remedy)


class _Handle:
    """Something of the library, destroyed with this object."""

    def __init__(self, destroy):
        self.value = _pointer()
        self._destroy = destroy

    def __del__(self):
        if self.value:
            self._destroy(self.value)


def version():
    """The version of attnc."""
    return _library().version().decode()


# --- tensors -----------------------------------------------------------------------------------

DTYPES = ("f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8")
_TORCH = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3, "int8": 4, "int32": 5,
          "int64": 6, "uint8": 7, "bool": 7}
_TYPESTR = {"f2": 0, "f4": 2, "f8": 3, "i1": 4, "i4": 5, "i8": 6, "u1": 7, "b1": 7}
_NUMPY = ("float16", "uint16", "float32", "float64", "int8", "int32", "int64", "uint8")

# Where a tensor is: `cuda` or not, and the number of its GPU if it says so.
_View = collections.namedtuple("_View", "data dtype shape strides cuda device writable")


def _view_of(name, tensor, wanted):
    """A tensor of another library as what attnc needs to know; `wanted` is the program's dtype."""
    if hasattr(tensor, "data_ptr") and hasattr(tensor, "stride"):
        kind = str(tensor.dtype).rpartition(".")[2]
        if kind not in _TORCH:
            raise InvalidArgument(f"{name}: attnc has no element type {tensor.dtype}")
        return _View(tensor.data_ptr(), _TORCH[kind], tuple(tensor.shape), tuple(tensor.stride()),
                     tensor.device.type == "cuda", tensor.device.index, True)
    for attribute in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(tensor, attribute, None)
        if interface is not None:
            return _view_of_interface(name, tensor, interface, wanted,
                                      attribute == "__cuda_array_interface__")
    raise InvalidArgument(
        f"{name}: {type(tensor).__name__} is no tensor that attnc knows",
        "pass a PyTorch tensor or an object with __cuda_array_interface__ (a GPU program) or "
        "__array_interface__ (a program for the cpu)")


def _view_of_interface(name, tensor, interface, wanted, cuda):
    order, kind = interface["typestr"][0], interface["typestr"][1:]
    size = int(kind[1:])
    if kind == "u2" and wanted == DTYPES.index("bf16"):
        dtype = wanted
    elif kind in _TYPESTR and (order in "|<" or size == 1):
        dtype = _TYPESTR[kind]
    else:
        raise InvalidArgument(f"{name}: attnc has no element type {interface['typestr']}")
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if strides is not None:
        if any(stride % size for stride in strides):
            raise InvalidArgument(f"{name}: strides {strides} are no multiples of its elements")
        strides = tuple(stride // size for stride in strides)
    if interface.get("data") is None:
        raise InvalidArgument(f"{name}: does not say where its data are")
    data, read_only = interface["data"]
    device = getattr(getattr(tensor, "device", None), "id", None) if cuda else None
    return _View(data, dtype, shape, strides, cuda, device, not read_only)


def _encode(views, params, memory_budget=None):
    """The arguments of a call, with what they point to."""
    tensors = (_Tensor * max(len(views), 1))()
    kept = [tensors]
    for slot, (name, view) in zip(tensors, views.items()):
        slot.name, slot.data, slot.dtype = name.encode(), view.data, view.dtype
        slot.rank = len(view.shape)
        slot.shape = (_i64 * len(view.shape))(*view.shape)
        if view.strides is not None:
            slot.strides = (_i64 * len(view.strides))(*view.strides)
    encoded = (_Param * max(len(params), 1))()
    for slot, (name, value) in zip(encoded, params.items()):
        slot.name = name.encode()
        if isinstance(value, int):
            slot.is_integer, slot.integer = 1, _int64(f"param {name}", value)
        else:
            slot.real = float(value)
    arguments = _Arguments(tensors=tensors, tensor_count=len(views), params=encoded,
                           param_count=len(params))
    if memory_budget is not None:
        budget = _i64(_int64("memory_budget", memory_budget))
        arguments.memory_budget = ctypes.pointer(budget)
        kept.append(budget)
    return arguments, kept + [encoded]


def _part_of(name, tensor, wanted):
    """What a layout depends on of a tensor, and its address. Of PyTorch's tensors nothing is made
    that is not there: this runs at each call."""
    try:
        address = tensor.data_ptr()
        part = (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
    except AttributeError:
        view = _view_of(name, tensor, wanted)
        address, part = view.data, view[1:]
    bits = address | 256
    return (part, bits & -bits if address else 0), address


# --- streams -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def _raw_stream_query(torch):
    """PyTorch's shortest way from the number of a GPU to its current stream."""
    short = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return short or (lambda device: torch.cuda.current_stream(device).cuda_stream)


def _current_stream(device):
    """The CUstream on which PyTorch works now on a GPU; None, the default stream, without it."""
    torch = sys.modules.get("torch")
    if torch is None or device is None or not torch.cuda.is_initialized():
        return None
    return _raw_stream_query(torch)(device)


def _int64(what, value):
    """ctypes would cut what does not fit, without a word."""
    if not -2 ** 63 <= value < 2 ** 63:
        raise InvalidArgument(f"{what} is {value}, which is no integer of 64 bits")
    return value


def _stream_handle(stream):
    """The CUstream that a caller has given."""
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return getattr(stream, attribute)
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    return stream


def _side_stream(stream, device):
    """PyTorch's object for a stream that is not its current one, or None. What tensors have on the
    current stream may be given to others while the other stream still works on it: see `_keep`."""
    torch = sys.modules.get("torch")
    if stream is None or torch is None or device is None or not torch.cuda.is_initialized():
        return None
    handle = _stream_handle(stream)
    if (handle or 0) == (_current_stream(device) or 0):
        return None
    if hasattr(stream, "cuda_stream"):
        return stream
    if not handle:
        return torch.cuda.default_stream(device)
    return torch.cuda.ExternalStream(handle, device=device)


def _keep(tensors, side):
    """Tells PyTorch's allocator that `side` works on these tensors: their memory is not given away
    before that is done, whenever they go."""
    if side is not None:
        for tensor in tensors:
            if hasattr(tensor, "record_stream"):
                tensor.record_stream(side)


# --- programs ----------------------------------------------------------------------------------

Tensor = collections.namedtuple("Tensor", "name dtype dims align")
Param = collections.namedtuple("Param", "name dtype has_default")
Kernel = collections.namedtuple(
    "Kernel", "name form schedule notes threads shared_bytes registers spill_store_bytes "
    "spill_load_bytes stack_bytes static_shared_bytes")
_TEXTS = ("attn", "red", "tile", "llvm", "manifest", "warnings", "cuda", "ptx", "cubin")


class Plan:
    """A program bound to tensors; they stay alive as long as it does."""

    def __init__(self, handle, loaded, tensors, device, outputs):
        self._handle, self._loaded, self._tensors = handle, loaded, tensors
        self._device, self.outputs = device, outputs
        self._address, self._launch = handle.value.value, _library().plan_launch

    @property
    def workspace_bytes(self):
        """Scratch memory that a launch needs."""
        return _library().plan_workspace_bytes(self._address)

    def __call__(self, stream=None, workspace=None):
        """Launches and returns the outputs by name. `workspace` is the address of device memory
        that nothing else uses until the work is done; without it, a launch takes its own in the
        order of the stream."""
        if stream is None:
            handle = _current_stream(self._device)
        else:
            handle = _stream_handle(stream)
            _keep(self._tensors.values(), _side_stream(stream, self._device))
        error = self._launch(self._address, handle, workspace)
        if error:
            _check(error)
        return self.outputs


class _Known:
    """What is remembered of the calls of one layout: a plan, and the outputs that a call makes."""
    __slots__ = ("plan", "loaded", "device", "made")

    def __init__(self, plan, loaded, device, made):
        self.plan, self.loaded, self.device, self.made = plan, loaded, device, made


class Program:
    """A compiled spec. `inputs`, `outputs`, `params`, `dims` and `kernels` say what is in it;
    `seconds` (`nvrtc_seconds` of them in NVRTC) is how long it took to be ready, and `origin` where
    it came from: "compiler", "disk" (the cache), "remote" (the fleet's) or "file". `entry_names`
    are its entry points: "forward", which the program itself is, and "backward" if the spec has
    the key `grad`."""

    def __init__(self, handle):
        self._handle, self._loaded, self._lock = handle, {}, threading.Lock()
        self._known = {}  # calls by their layouts, the oldest first
        self._entries = {}
        library = _library()
        self.name = library.program_name(handle.value).decode()
        self.target = library.program_target(handle.value).decode()
        tensors = [(bool(t.is_output),
                    Tensor(t.name.decode(), DTYPES[t.dtype],
                           tuple(t.dims[i].decode() for i in range(t.rank)), t.align))
                   for t in self._all("tensor", _TensorInfo)]
        self.inputs = tuple(t for is_output, t in tensors if not is_output)
        self.outputs = tuple(t for is_output, t in tensors if is_output)
        self.dims = {d.name.decode(): d.extent if d.extent >= 0 else None
                     for d in self._all("dim", _DimInfo)}
        self.params = tuple(Param(p.name.decode(), DTYPES[p.dtype], bool(p.has_default))
                            for p in self._all("param", _ParamInfo))
        self.kernels = tuple(
            Kernel(*(v.decode() if isinstance(v, bytes) else v
                     for v in (getattr(k, field) for field in Kernel._fields)))
            for k in self._all("kernel", _KernelInfo))
        self._slots = {t.name: (slot, DTYPES.index(t.dtype))
                       for slot, t in enumerate(self.inputs + self.outputs)}
        self._addresses = _pointer * max(len(self._slots), 1)
        timings = _Timings()
        _check(library.program_timings(handle.value, ctypes.byref(timings)))
        self.seconds, self.nvrtc_seconds = timings.total, timings.nvrtc
        self.origin = ("compiler", "disk", "file", "remote")[timings.origin]
        self.entry_names = tuple(library.program_entry_name(handle.value, index).decode()
                                 for index in range(library.program_entry_count(handle.value)))

    def _all(self, what, struct):
        library = _library()
        for index in range(getattr(library, f"program_{what}_count")(self._handle.value)):
            info = struct()
            _check(getattr(library, "program_" + what)(self._handle.value, index,
                                                       ctypes.byref(info)))
            yield info

    def __repr__(self):
        def signature(tensors):
            return ", ".join(f"{t.name}: {t.dtype}[{', '.join(t.dims)}]" for t in tensors)
        params = "".join(f", {p.name}: {p.dtype}" for p in self.params)
        return (f"<attnc program {self.name} for {self.target}: ({signature(self.inputs)}{params})"
                f" -> ({signature(self.outputs)})>")

    def text(self, which, kernel=0):
        """One of "attn", "red", "tile", "llvm", "manifest", "warnings", or, of one kernel, "cuda",
        "ptx", "cubin" (bytes). The IR and "cuda" need keep_texts; None if there is none."""
        if which not in _TEXTS:
            raise InvalidArgument(f"there is no text '{which}'", "one of " + ", ".join(_TEXTS))
        length = _size()
        address = _library().program_text(self._handle.value, _TEXTS.index(which), kernel,
                                          ctypes.byref(length))
        if not address:
            return None
        content = ctypes.string_at(address, length.value)
        return content if which == "cubin" else content.decode()

    def entry(self, name):
        """An entry point as a Program, the same one each time. "forward" is this program. Raises
        InvalidArgument for a name that is not in `entry_names`."""
        if name == "forward":
            return self
        with self._lock:
            if name not in self._entries:
                handle = _Handle(_library().program_destroy)
                _check(_library().program_entry(self._handle.value, name.encode(),
                                                ctypes.byref(handle.value)))
                self._entries[name] = Program(handle)
            return self._entries[name]

    @property
    def backward(self):
        """The Program of the gradients. It takes the inputs of the spec that it needs, the outputs
        `saved_*` of this program, and `grad_o`, the gradient of each output `o`; it gives `grad_q`
        for each input `q` that the spec asks for. Raises InvalidArgument if the spec asks for
        none."""
        return self.entry("backward")

    def save(self, path):
        """Writes a program file, with all that launches may need. `load` of this module, `attnc
        run` and the C interface read it, also where there is no NVRTC."""
        _check(_library().program_save(self._handle.value, os.fsencode(path)))

    def warm_up(self, device=None):
        """As `load`, with all variants: after it no call waits for the compiler, and calls can be
        captured in a CUDA graph."""
        _check(_library().warm_up(self._load(-1 if device is None else device).value))

    def load(self, device=None):
        """Loads the kernels on GPU number `device` (that of the current context without it), which
        the first call does otherwise."""
        return self._load(-1 if device is None else device)

    def _load(self, device):
        """-1 for the current GPU. Under its number it is found again by calls with tensors."""
        with self._lock:
            if device not in self._loaded:
                handle = _Handle(_library().loaded_destroy)
                _check(_library().load(self._handle.value, device, ctypes.byref(handle.value)))
                number = _library().loaded_device(handle.value)
                self._loaded[device] = self._loaded.setdefault(number, handle)
            return self._loaded[device]

    def launch(self, inputs, outputs=None, params=None, stream=None, memory_budget=None):
        """As a call, with names in dicts: for specs whose names a call cannot take."""
        return self._call(inputs, outputs or {}, params or {}, stream, memory_budget)

    def bind(self, out=None, memory_budget=None, **arguments):
        """Checks tensors and params and returns a Plan, which can be launched again and again.
        `memory_budget` is the most bytes that values between kernels may take; a shape at which
        they take more is an InvalidArgument, before scratch memory is allocated."""
        return self._bind(*self._split(arguments, out), memory_budget)

    def __call__(self, out=None, stream=None, memory_budget=None, **arguments):
        """Computes the outputs from inputs and params, by name. `out` maps names of outputs to
        tensors to write; those that it lacks are allocated. Returns the output, or a dict of them
        if there are several. `memory_budget` is as for `bind`."""
        inputs, outputs, params = self._split(arguments, out)
        return self._call(inputs, outputs or {}, params, stream, memory_budget)

    def _split(self, arguments, out):
        slots = self._slots
        params = {name: value for name, value in arguments.items() if name not in slots}
        inputs = arguments
        if params:
            names = {param.name for param in self.params}
            params = {name: value for name, value in params.items() if name in names}
            inputs = {name: value for name, value in arguments.items() if name not in params}
        if out is not None and not isinstance(out, dict):
            if len(self.outputs) != 1:
                raise InvalidArgument(f"{self.name} has {len(self.outputs)} outputs",
                                      "pass out={name: tensor}")
            out = {self.outputs[0].name: out}
        return inputs, out, params

    def _returned(self, outputs):
        return outputs[self.outputs[0].name] if len(self.outputs) == 1 else outputs

    _MOST_KNOWN = 256

    def _call(self, inputs, outputs, params, stream, memory_budget):
        """A call like one before launches its plan at other addresses; others are bound first."""
        addresses = self._addresses()
        key = self._key(inputs, outputs, params, memory_budget, addresses)
        known = self._known.get(key) if key else None
        if known is not None:
            returned = self._again(known, inputs, outputs, stream, addresses)
            if returned is not None:
                return returned
        given = dict(outputs)
        plan = self._bind(inputs, outputs, params, memory_budget, stream)
        result = plan(stream)
        if key:
            self._remember(key, plan, given)
        return self._returned(result)

    def _key(self, inputs, outputs, params, memory_budget, addresses):
        """All that a call depends on but addresses, which are put into `addresses`; None where that
        cannot be said."""
        slots, key = self._slots, [memory_budget, len(inputs)]
        for group in (inputs, outputs):
            for name, tensor in group.items():
                if name not in slots:
                    return None
                slot, dtype = slots[name]
                part, addresses[slot] = _part_of(name, tensor, dtype)
                key.append(slot)
                key.append(part)
        for name, value in params.items():
            if type(value) not in (int, float, bool):
                return None  # something that may change
            # Equal numbers are not the same param: 1 is 1.0, and 0.0 is -0.0.
            key.append((name, type(value), value or str(value)))
        return tuple(key)

    def _again(self, known, inputs, outputs, stream, addresses):
        """Launches a known plan. None if these addresses do not fit it: `bind` says why."""
        side = None if stream is None else _side_stream(stream, known.device)
        if known.made:
            outputs = dict(outputs)
            for slot, name, shape, dtype, like in known.made:
                tensor = _empty(shape, dtype, like, side)
                outputs[name] = tensor
                addresses[slot] = _part_of(name, tensor, dtype)[1]
        if side is not None:
            _keep((*inputs.values(), *outputs.values()), side)
        handle = _current_stream(known.device) if stream is None else _stream_handle(stream)
        library = _library()
        error = library.plan_launch_at(known.plan.value, addresses, handle, None)
        if error:
            if library.error_kind(error) == 1:
                library.error_destroy(error)
                return None
            _check(error)
        if len(self.outputs) == 1:
            return outputs[self.outputs[0].name]
        return {t.name: outputs[t.name] for t in self.outputs}

    def _remember(self, key, plan, given):
        like = next((plan._tensors[t.name] for t in self.inputs), None)
        made = [(self._slots[t.name][0], t.name, tuple(plan.outputs[t.name].shape),
                 DTYPES.index(t.dtype), _kind_of(like))
                for t in self.outputs if t.name not in given]
        with self._lock:
            if len(self._known) >= self._MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = _Known(plan._handle, plan._loaded, plan._device, made)

    def _bind(self, inputs, outputs, params, memory_budget, stream=None):
        outputs = dict(outputs or {})
        views = {}
        for declared, given in ((self.inputs, inputs), (self.outputs, outputs)):
            dtypes = {t.name: DTYPES.index(t.dtype) for t in declared}
            for name, tensor in given.items():
                if name not in dtypes:
                    raise InvalidArgument(f"there is no {name} in {self!r}")
                views[name] = _view_of(name, tensor, dtypes[name])
        for missing in (t for t in self.outputs if t.name not in outputs):
            outputs[missing.name] = self._allocate(missing, inputs, views, params, stream)
            views[missing.name] = _view_of(missing.name, outputs[missing.name],
                                           DTYPES.index(missing.dtype))
        device = self._place(views, outputs)
        loaded = self._load(device)
        arguments, kept = _encode(views, params, memory_budget)
        plan = _Handle(_library().plan_destroy)
        _check(_library().bind(loaded.value, ctypes.byref(arguments), ctypes.byref(plan.value)))
        del kept
        ordered = {t.name: outputs[t.name] for t in self.outputs}
        return Plan(plan, loaded, {**inputs, **outputs}, device if device >= 0 else None, ordered)

    def _place(self, views, outputs):
        """The GPU of all tensors, or -1 for the current one. The library does not ask where
        pointers point for the cpu, so that is checked here."""
        on_gpu = self.target != "cpu"
        for name, view in views.items():
            if view.cuda != on_gpu:
                raise InvalidArgument(
                    f"{name} is {'on a GPU' if view.cuda else 'in host memory'}, but the program "
                    f"is for {self.target}",
                    "move it to the GPU" if on_gpu else "move it to the cpu, or compile for a GPU")
            if name in outputs and not view.writable:
                raise InvalidArgument(f"output {name} is read-only")
        devices = {view.device for view in views.values() if view.device is not None}
        if len(devices) > 1:
            raise InvalidArgument(f"tensors are on several GPUs: {sorted(devices)}")
        return devices.pop() if on_gpu and devices else -1

    def _allocate(self, output, inputs, views, params, stream):
        arguments, kept = _encode(views, params)
        shape = (_i64 * max(len(output.dims), 1))()
        index = len(self.inputs) + self.outputs.index(output)
        _check(_library().program_shape(self._handle.value, ctypes.byref(arguments), index, shape))
        del kept
        shape = tuple(shape[:len(output.dims)])
        like = _kind_of(inputs[self.inputs[0].name] if self.inputs else None)
        if isinstance(like, str):
            raise InvalidArgument(f"attnc does not allocate a {like}",
                                  f"pass out={{'{output.name}': ...}} with shape {shape}")
        device = next((view.device for view in views.values() if view.cuda), None)
        return _empty(shape, DTYPES.index(output.dtype), like, _side_stream(stream, device))


def _kind_of(tensor):
    """How to make a tensor like this one: the device of PyTorch's, None for one of NumPy's; the
    name of its type where attnc makes none."""
    if "torch" in sys.modules and hasattr(tensor, "data_ptr"):
        return tensor.device
    if "numpy" in sys.modules and isinstance(tensor, sys.modules["numpy"].ndarray):
        return None
    return type(tensor).__name__


@functools.lru_cache(maxsize=None)
def _torch_dtype(torch, dtype):
    return getattr(torch, next(name for name, code in _TORCH.items() if code == dtype))


def _empty(shape, dtype, like, side):
    """A tensor without values. For a side stream it is of that stream's memory: what lies free in
    the current stream's may still be in use there."""
    if like is None:
        return sys.modules["numpy"].empty(shape, dtype=_NUMPY[dtype])
    torch = sys.modules["torch"]
    if side is None:
        return torch.empty(shape, dtype=_torch_dtype(torch, dtype), device=like)
    with torch.cuda.stream(side):
        tensor = torch.empty(shape, dtype=_torch_dtype(torch, dtype), device=like)
    tensor.record_stream(torch.cuda.current_stream(like.index))  # where it is used next
    return tensor


def compile(spec, target, set=None, schedule=None, keep_texts=False, allow_mlir=False, cache=True):
    """Compiles a spec: a path, the text of a spec, or a dict as json.load gives it.

    `target` is "sm_90a", "sm_80", ... or "cpu"; `set` overrides static extents, named types and
    integer lets, as in {"d": 128, "T": "bf16"}; `schedule` is a dict, JSON text or the path of a
    schedule file; `allow_mlir` takes a path that ends in .mlir, a program in the attn dialect,
    which can say more than a spec; without `cache`, the cache on disk is not used. Raises
    SpecError, InvalidArgument, or Unavailable without NVRTC.
    """
    library = _library()
    return Program(_compiled(library.compile_text, library.compile_file, spec,
                             (target, set, schedule, keep_texts, allow_mlir, cache)))


def load(path):
    """The program in a file that `Program.save` or `attnc compile` wrote. Raises InvalidArgument
    for what is no program, damaged, or for another processor, and Unavailable if it cannot be
    read."""
    library = _library()
    handle = _Handle(library.program_destroy)
    _check(library.program_load(os.fsencode(path), ctypes.byref(handle.value)))
    return Program(handle)


class Jit:
    """Compiles specs and remembers the programs, the `capacity` that were used last. Of several
    threads that ask for the same program, one compiles it. Errors of specs and arguments are
    remembered too."""

    def __init__(self, capacity=256):
        if capacity < 1:
            raise InvalidArgument(f"the capacity is {capacity}", "keep at least one program")
        library = _library()
        self._handle, self._lock = _Handle(library.jit_destroy), threading.Lock()
        self._capacity, self._programs = capacity, collections.OrderedDict()
        options = _JitOptions(capacity=capacity)
        _check(library.jit_create(ctypes.byref(options), ctypes.byref(self._handle.value)))

    def compile(self, spec, target, set=None, schedule=None, keep_texts=False, allow_mlir=False,
                cache=True):
        """As the module's `compile`. The same spec and options give the same Program, with what it
        has loaded. A file is read each time, and what counts is what it holds."""
        library, jit = _library(), self._handle.value
        handle = _compiled(functools.partial(library.jit_text, jit),
                           functools.partial(library.jit_file, jit), spec,
                           (target, set, schedule, keep_texts, allow_mlir, cache))
        # Handles differ, but what they stand for has one manifest.
        identity = library.program_text(handle.value, _TEXTS.index("manifest"), 0, None)
        with self._lock:
            program = self._programs.get(identity) or Program(handle)
            self._programs[identity] = program
            self._programs.move_to_end(identity)
            while len(self._programs) > self._capacity:
                self._programs.popitem(last=False)
            return program

    def stats(self):
        """Counts: `programs` kept, `hits` (of which `waits` for another thread), `misses`, and how
        many were `dropped` to stay within the capacity."""
        stats = _JitStats()
        _check(_library().jit_get_stats(self._handle.value, ctypes.byref(stats)))
        return {name: getattr(stats, name) for name, _ in _JitStats._fields_[1:]}

    def clear(self):
        """Forgets everything."""
        with self._lock:
            self._programs.clear()
        _library().jit_clear(self._handle.value)


def _compiled(from_text, from_file, spec, options):
    """The handle that one of the library's functions gives for a spec."""
    target, set, schedule, keep_texts, allow_mlir, cache = options
    values = [f"{name}={value}".encode() for name, value in (set or {}).items()]
    options = _CompileOptions(target=target.encode(), set=(_text * max(len(values), 1))(*values),
                              set_count=len(values), schedule=_schedule_text(schedule),
                              keep_texts=int(keep_texts), no_cache=int(not cache),
                              allow_mlir=int(allow_mlir))
    handle = _Handle(_library().program_destroy)
    tail = (ctypes.byref(options), ctypes.byref(handle.value))
    if isinstance(spec, dict):
        spec = json.dumps(spec)
    if isinstance(spec, str) and spec.lstrip().startswith(("{", "/*", "//")):
        text = spec.encode()
        _check(from_text(b"<text>", text, len(text), *tail))
    else:
        _check(from_file(os.fsencode(spec), *tail))
    return handle


def _schedule_text(schedule):
    if schedule is None:
        return None
    if isinstance(schedule, dict):
        return json.dumps(schedule).encode()
    if isinstance(schedule, str) and schedule.lstrip().startswith("{"):
        return schedule.encode()
    return pathlib.Path(schedule).read_bytes()
