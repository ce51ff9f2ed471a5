"""Tensors of other libraries, as the C interface takes them, and new ones like them."""
import collections
import ctypes
import re
import functools
import sys

from attnc import _abi, _array, _dlpack, _streams, errors

DTYPES = ("f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8")
TORCH = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3, "int8": 4, "int32": 5,
          "int64": 6, "uint8": 7, "bool": 7}
TYPESTR = {"f2": 0, "f4": 2, "f8": 3, "i1": 4, "i4": 5, "i8": 6, "u1": 7, "b1": 7}
NUMPY = ("float16", "uint16", "float32", "float64", "int8", "int32", "int64", "uint8")

# Where a tensor is: `cuda` or not, and the number of its GPU if it says so; what keeps its memory
# there, if it is not the tensor, and the CUstream that may still write it, if that is known.
View = collections.namedtuple("View", "data owner stream dtype shape strides cuda device writable")


def view_of(name, tensor, wanted, stream=None):
    """A tensor of another library as what attnc needs to know; `wanted` is the program's dtype,
    `stream` that of the launch, as callers give it."""
    if hasattr(tensor, "data_ptr") and hasattr(tensor, "stride"):
        if tensor.is_neg() or tensor.is_conj():
            raise errors.InvalidArgument(f"{name}: its memory holds other values than it has",
                                         "pass tensor.resolve_neg().resolve_conj()")
        kind = str(tensor.dtype).rpartition(".")[2]
        if kind not in TORCH:
            raise errors.InvalidArgument(f"{name}: attnc has no element type {tensor.dtype}")
        return View(tensor.data_ptr(), None, None, TORCH[kind], tuple(tensor.shape),
                    tuple(tensor.stride()), tensor.device.type == "cuda", tensor.device.index, True)
    interface, cuda = getattr(tensor, "__cuda_array_interface__", None), True
    if interface is None:
        interface, cuda = getattr(tensor, "__array_interface__", None), False
    # Before version 3 that of CUDA does not say which stream still writes, but DLPack does.
    is_silent = interface is None or cuda and interface.get("version", 0) < 3
    if is_silent and hasattr(tensor, "__dlpack__"):
        return _view_of_dlpack(name, tensor, wanted, stream)
    if interface is not None:
        return _view_of_interface(name, tensor, interface, wanted, cuda)
    raise errors.InvalidArgument(
        f"{name}: {type(tensor).__name__} is no tensor that attnc knows",
        "pass a PyTorch tensor or an object with __dlpack__, __cuda_array_interface__ (a GPU "
        "program) or __array_interface__ (a program for the cpu)")


def _view_of_dlpack(name, tensor, wanted, stream):
    kind, number = _dlpack.device_of(name, tensor)
    cuda = kind in (_dlpack.CUDA, _dlpack.CUDA_MANAGED)
    device = number if cuda else None
    handle = {"stream": _streams.named(_streams.launch_stream(stream, device))} if cuda else {}
    borrowed = _dlpack.borrow(name, tensor, **handle)
    dtype, kind = borrowed.dtype()
    if kind == "uint16" and DTYPES[wanted] == "bf16":
        dtype = "bf16"
    if dtype is None:
        raise errors.InvalidArgument(f"{name}: attnc has no element type {kind}")
    return View(borrowed.address(), borrowed, None, DTYPES.index(dtype), borrowed.shape(),
                borrowed.strides(), cuda, device, not borrowed.is_read_only)


def _view_of_interface(name, tensor, interface, wanted, cuda):
    if not re.fullmatch(r"[<>|=]\w\d+", interface["typestr"]):
        raise errors.InvalidArgument(f"{name}: attnc has no element type {interface['typestr']}")
    order, kind = interface["typestr"][0], interface["typestr"][1:]
    size = int(kind[1:])
    if kind in ("u2", "V2") and DTYPES[wanted] == "bf16":  # V2 is ml_dtypes' bfloat16
        dtype = wanted
    elif kind in TYPESTR and (order in "|<" or size == 1):
        dtype = TYPESTR[kind]
    else:
        raise errors.InvalidArgument(f"{name}: attnc has no element type {interface['typestr']}")
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if strides is not None:
        if len(strides) != len(shape):
            raise errors.InvalidArgument(f"{name}: {len(shape)} dims and {len(strides)} strides")
        if any(stride % size for stride in strides):
            raise errors.InvalidArgument(
                f"{name}: strides {strides} are no multiples of its elements")
        strides = tuple(stride // size for stride in strides)
    if interface.get("mask") is not None or hasattr(tensor, "filled"):  # numpy.ma
        raise errors.InvalidArgument(f"{name} has a mask of elements that do not count",
                                     "pass an array without one, and the mask as an input")
    if interface.get("data") is None:
        raise errors.InvalidArgument(f"{name}: does not say where its data are")
    data, read_only = interface["data"]
    producer = interface.get("stream") if cuda else None
    if producer == 0:
        raise errors.InvalidArgument(
            f"{name} is written on stream 0, which can mean two",
            "its library has to say 1 for the default stream and 2 for the thread's own")
    device = getattr(getattr(tensor, "device", None), "id", None) if cuda else None
    return View(data or 0, None, producer, dtype, shape, strides, cuda, device, not read_only)


def encode(views, params, memory_budget=None):
    """The arguments of a call, with what they point to."""
    tensors = (_abi.TensorSlot * max(len(views), 1))()
    kept = [tensors]
    for slot, (name, view) in zip(tensors, views.items()):
        slot.name, slot.data, slot.dtype = name.encode(), view.data, view.dtype
        slot.rank = len(view.shape)
        slot.shape = (_abi.i64 * len(view.shape))(*view.shape)
        if view.strides is not None and 0 not in view.shape:  # of no elements they say nothing
            slot.strides = (_abi.i64 * len(view.strides))(*view.strides)
    encoded = (_abi.ParamSlot * max(len(params), 1))()
    for slot, (name, value) in zip(encoded, params.items()):
        slot.name = name.encode()
        if isinstance(value, int):
            slot.is_integer, slot.integer = 1, int64(f"param {name}", value)
        else:
            slot.real = float(value)
    arguments = _abi.Arguments(tensors=tensors, tensor_count=len(views), params=encoded,
                           param_count=len(params))
    if memory_budget is not None:
        budget = _abi.i64(int64("memory_budget", memory_budget))
        arguments.memory_budget = ctypes.pointer(budget)
        kept.append(budget)
    return arguments, kept + [encoded]


def part_of(name, tensor, wanted, stream, views):
    """What a layout depends on of a tensor, and its address. Of PyTorch's tensors nothing is made
    that is not there: this runs at each call. Of others the view is put into `views`."""
    try:
        address = tensor.data_ptr()
        part = (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
    except AttributeError:
        view = views[name] = view_of(name, tensor, wanted, stream)
        address, part = view.data, (type(tensor), *view[3:])
    bits = address | 256
    return (part, bits & -bits if address else 0), address


def int64(what, value):
    """ctypes would cut what does not fit, without a word."""
    if not -2 ** 63 <= value < 2 ** 63:
        raise errors.InvalidArgument(f"{what} is {value}, which is no integer of 64 bits")
    return value


class Foreign:
    """Makes arrays of attnc's own, and of these what the library of another array has: its
    namespace says how, if it has one as the standard of Python array libraries wants it."""

    def __init__(self, array):
        namespace = getattr(array, "__array_namespace__", lambda: None)()
        self._from_dlpack = getattr(namespace, "from_dlpack", None)

    def __call__(self, shape, dtype, stream, device):
        return _array.Array(shape, DTYPES[dtype], device)

    def convert(self, array):
        """The array as that library has it, or as it is; it has been launched."""
        return self._from_dlpack(array) if self._from_dlpack else array


def maker_like(tensor):
    """What makes a tensor like this one without values, of a shape and dtype, that a launch on a
    stream of a GPU writes, or that of host memory for the device None."""
    if "torch" in sys.modules and hasattr(tensor, "data_ptr"):
        return functools.partial(_torch_empty, tensor.device)
    for name, empty in (("numpy", _numpy_empty), ("cupy", _cupy_empty)):
        module = sys.modules.get(name)
        if module is not None and isinstance(tensor, module.ndarray):
            return functools.partial(empty, module)
    return Foreign(tensor)


@functools.lru_cache(maxsize=None)
def torch_dtype(torch, dtype):
    return getattr(torch, next(name for name, code in TORCH.items() if code == dtype))


def _torch_empty(place, shape, dtype, stream, device):
    """For a side stream it is of that stream's memory: what lies free in the current stream's may
    still be in use there."""
    torch, side = sys.modules["torch"], _streams.side_stream(stream, device)
    if side is None:
        return torch.empty(shape, dtype=torch_dtype(torch, dtype), device=place)
    with torch.cuda.stream(side):
        tensor = torch.empty(shape, dtype=torch_dtype(torch, dtype), device=place)
    tensor.record_stream(torch.cuda.current_stream(place.index))  # where it is used next
    return tensor


def _numpy_empty(numpy, shape, dtype, stream, device):
    return numpy.empty(shape, dtype=NUMPY[dtype])


def _cupy_empty(cupy, shape, dtype, stream, device):
    """Of the launch's stream: CuPy's pools keep the memory of each stream for itself."""
    handle = _streams.launch_stream(stream, device)
    with cupy.cuda.Device(device), cupy.cuda.ExternalStream(handle or 0):
        return cupy.empty(shape, dtype=NUMPY[dtype])
