"""DLPack: memory that libraries hand to each other, as the standard of Python array libraries has
it (https://dmlc.github.io/dlpack/latest/python_spec.html), of version 1 and from before."""
import contextlib
import ctypes

from attnc import errors

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
NO_STREAM = -1  # a consumer that waits by itself
_READ_ONLY = 1
# What attnc reads and writes: the layout is that of every version 1.
_VERSION = (1, 0)
# Codes and bits of element types by what attnc calls them.
_TYPES = {(2, 16): "f16", (4, 16): "bf16", (2, 32): "f32", (2, 64): "f64", (0, 8): "i8",
          (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (6, 8): "u8"}
_KINDS = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool"}


class _Tensor(ctypes.Structure):
    """DLTensor. Strides count elements; without any, the last dim is the innermost."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    """DLManagedTensor, from before version 1."""
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


# By the names of capsules. Capsules keep the addresses of their names, so these stay.
_STRUCTS = {b"dltensor_versioned": _Versioned, b"dltensor": _Managed}
_USED = {name: b"used_" + name for name in _STRUCTS}

_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _capsule_function(name, result, *arguments):
    """A function of Python's C API, which other users of ctypes.pythonapi do not see."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _capsule_function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _capsule_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object,
                             ctypes.c_char_p)
_rename = _capsule_function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_new = _capsule_function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                         _Destructor)
# In a destructor a capsule is no object any more that may be referred to.
_dying_is_valid = _capsule_function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p,
                                    ctypes.c_char_p)
_dying_pointer = _capsule_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p,
                                   ctypes.c_char_p)


class Borrowed:
    """A tensor of another library, which keeps its memory until this object goes."""

    def __init__(self, managed):
        self._managed, self.tensor = managed, managed.tensor

    def __del__(self):
        if self._managed.deleter:
            _Deleter(self._managed.deleter)(ctypes.addressof(self._managed))

    @property
    def is_read_only(self):
        """True also where the producer cannot say: before version 1 there was no word for it."""
        return isinstance(self._managed, _Managed) or bool(self._managed.flags & _READ_ONLY)

    def address(self):
        return (self.tensor.data or 0) + self.tensor.byte_offset

    def shape(self):
        return _extents(self.tensor.shape, self.tensor.ndim)

    def strides(self):
        """In elements; None for those of a contiguous tensor."""
        return _extents(self.tensor.strides, self.tensor.ndim) if self.tensor.strides else None

    def dtype(self):
        """What attnc calls its elements, or None, and what to call them else."""
        code, bits, lanes = self.tensor.code, self.tensor.bits, self.tensor.lanes
        own = _TYPES.get((code, bits)) if lanes == 1 else None
        return own, f"{_KINDS.get(code, f'type {code} of ')}{bits}" + (f"x{lanes}" * (lanes != 1))


def _extents(pointer, count):
    return tuple(pointer[:count]) if count else ()


@contextlib.contextmanager
def _asking(name, array):
    """Errors of a producer, whatever they are, become those of the tensor."""
    try:
        yield
    except Exception as error:
        raise errors.InvalidArgument(
            f"{name}: {type(array).__name__} is not given through DLPack: {error}") from error


def device_of(name, array):
    """The type and number of the device that an array is on."""
    with _asking(name, array):
        kind, number = array.__dlpack_device__()
    if kind not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise errors.InvalidArgument(f"{name} is on a device of DLPack's type {int(kind)}",
                                     "move it to the cpu or to an NVIDIA GPU")
    return int(kind), number


def borrow(name, array, **stream):
    """An array of another library. With stream=N its producer makes that stream wait for it."""
    with _asking(name, array):
        try:
            capsule = array.__dlpack__(max_version=_VERSION, **stream)
        except TypeError:  # from before version 1
            capsule = array.__dlpack__(**stream)
    for word, struct in _STRUCTS.items():
        if _is_valid(capsule, word):
            borrowed = Borrowed(struct.from_address(_pointer(capsule, word)))
            _rename(capsule, _USED[word])
            break
    else:
        raise errors.InvalidArgument(f"{name}: {capsule!r} is no tensor of DLPack",
                                     "a capsule can be used once")
    if struct is _Versioned and borrowed._managed.major != _VERSION[0]:
        raise errors.InvalidArgument(
            f"{name} is of version {borrowed._managed.major} of DLPack, attnc reads {_VERSION[0]}")
    return borrowed


# --- memory of attnc's ----------------------------------------------------------------------------

_lent: dict = {}  # what must not go while another library has it, by addresses


def lend(owner, dtype, device, is_versioned):
    """A capsule of contiguous memory: `owner` has an address and a shape, and stays until whoever
    takes the capsule is done."""
    rank = len(owner.shape)
    shape, strides = (ctypes.c_int64 * rank)(*owner.shape), (ctypes.c_int64 * rank)()
    step = 1
    for axis in reversed(range(rank)):
        strides[axis], step = step, step * owner.shape[axis]
    code, bits = next(key for key, own in _TYPES.items() if own == dtype)
    tensor = _Tensor(owner.address, *device, rank, code, bits, 1, shape, strides, 0)
    deleter = ctypes.cast(_give_back, ctypes.c_void_p)
    managed = _Versioned(*_VERSION, None, deleter, 0, tensor) if is_versioned \
        else _Managed(tensor, None, deleter)
    address = ctypes.addressof(managed)
    _lent[address] = managed, shape, strides, owner
    return _new(address, b"dltensor_versioned" if is_versioned else b"dltensor", _destroy)


@_Deleter
def _give_back(address, lent=_lent):
    del lent[address]


@_Destructor
def _destroy(capsule, is_valid=_dying_is_valid, pointer=_dying_pointer, lent=_lent,
             names=tuple(_STRUCTS)):
    """Nobody has taken the capsule."""
    for name in names:
        if is_valid(capsule, name):
            del lent[pointer(capsule, name)]


# Other libraries may call these when the modules of Python are gone already.
for _callback in (_give_back, _destroy):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))
