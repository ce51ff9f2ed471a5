"""Tensors of other libraries, as the C interface takes them, and new ones like them."""
import collections
import ctypes
import functools
import sys

from attnc import _abi, errors

DTYPES = ("f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8")
TORCH = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3, "int8": 4, "int32": 5,
          "int64": 6, "uint8": 7, "bool": 7}
TYPESTR = {"f2": 0, "f4": 2, "f8": 3, "i1": 4, "i4": 5, "i8": 6, "u1": 7, "b1": 7}
NUMPY = ("float16", "uint16", "float32", "float64", "int8", "int32", "int64", "uint8")

# Where a tensor is: `cuda` or not, and the number of its GPU if it says so.
View = collections.namedtuple("View", "data dtype shape strides cuda device writable")


def view_of(name, tensor, wanted):
    """A tensor of another library as what attnc needs to know; `wanted` is the program's dtype."""
    if hasattr(tensor, "data_ptr") and hasattr(tensor, "stride"):
        kind = str(tensor.dtype).rpartition(".")[2]
        if kind not in TORCH:
            raise errors.InvalidArgument(f"{name}: attnc has no element type {tensor.dtype}")
        return View(tensor.data_ptr(), TORCH[kind], tuple(tensor.shape), tuple(tensor.stride()),
                     tensor.device.type == "cuda", tensor.device.index, True)
    for attribute in ("__cuda_array_interface__", "__array_interface__"):
        interface = getattr(tensor, attribute, None)
        if interface is not None:
            return _view_of_interface(name, tensor, interface, wanted,
                                      attribute == "__cuda_array_interface__")
    raise errors.InvalidArgument(
        f"{name}: {type(tensor).__name__} is no tensor that attnc knows",
        "pass a PyTorch tensor or an object with __cuda_array_interface__ (a GPU program) or "
        "__array_interface__ (a program for the cpu)")


def _view_of_interface(name, tensor, interface, wanted, cuda):
    order, kind = interface["typestr"][0], interface["typestr"][1:]
    size = int(kind[1:])
    if kind == "u2" and wanted == DTYPES.index("bf16"):
        dtype = wanted
    elif kind in TYPESTR and (order in "|<" or size == 1):
        dtype = TYPESTR[kind]
    else:
        raise errors.InvalidArgument(f"{name}: attnc has no element type {interface['typestr']}")
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if strides is not None:
        if any(stride % size for stride in strides):
            raise errors.InvalidArgument(
                f"{name}: strides {strides} are no multiples of its elements")
        strides = tuple(stride // size for stride in strides)
    if interface.get("data") is None:
        raise errors.InvalidArgument(f"{name}: does not say where its data are")
    data, read_only = interface["data"]
    device = getattr(getattr(tensor, "device", None), "id", None) if cuda else None
    return View(data, dtype, shape, strides, cuda, device, not read_only)


def encode(views, params, memory_budget=None):
    """The arguments of a call, with what they point to."""
    tensors = (_abi.TensorSlot * max(len(views), 1))()
    kept = [tensors]
    for slot, (name, view) in zip(tensors, views.items()):
        slot.name, slot.data, slot.dtype = name.encode(), view.data, view.dtype
        slot.rank = len(view.shape)
        slot.shape = (_abi.i64 * len(view.shape))(*view.shape)
        if view.strides is not None:
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


def part_of(name, tensor, wanted):
    """What a layout depends on of a tensor, and its address. Of PyTorch's tensors nothing is made
    that is not there: this runs at each call."""
    try:
        address = tensor.data_ptr()
        part = (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
    except AttributeError:
        view = view_of(name, tensor, wanted)
        address, part = view.data, view[1:]
    bits = address | 256
    return (part, bits & -bits if address else 0), address


def int64(what, value):
    """ctypes would cut what does not fit, without a word."""
    if not -2 ** 63 <= value < 2 ** 63:
        raise errors.InvalidArgument(f"{what} is {value}, which is no integer of 64 bits")
    return value


def kind_of(tensor):
    """How to make a tensor like this one: the device of PyTorch's, None for one of NumPy's; the
    name of its type where attnc makes none."""
    if "torch" in sys.modules and hasattr(tensor, "data_ptr"):
        return tensor.device
    if "numpy" in sys.modules and isinstance(tensor, sys.modules["numpy"].ndarray):
        return None
    return type(tensor).__name__


@functools.lru_cache(maxsize=None)
def torch_dtype(torch, dtype):
    return getattr(torch, next(name for name, code in TORCH.items() if code == dtype))


def empty(shape, dtype, like, side):
    """A tensor without values. For a side stream it is of that stream's memory: what lies free in
    the current stream's may still be in use there."""
    if like is None:
        return sys.modules["numpy"].empty(shape, dtype=NUMPY[dtype])
    torch = sys.modules["torch"]
    if side is None:
        return torch.empty(shape, dtype=torch_dtype(torch, dtype), device=like)
    with torch.cuda.stream(side):
        tensor = torch.empty(shape, dtype=torch_dtype(torch, dtype), device=like)
    tensor.record_stream(torch.cuda.current_stream(like.index))  # where it is used next
    return tensor
