"""Arrays that attnc allocates where it cannot make one of the caller's library."""
import ctypes
import math

from attnc import _cuda, _dlpack, _streams

_TYPESTR = {"f16": "<f2", "bf16": "<u2", "f32": "<f4", "f64": "<f8", "i8": "|i1", "i32": "<i4",
            "i64": "<i8", "u8": "|u1"}
_ALIGNMENT = 64  # of host memory: a line of the cache


class Array:
    """A contiguous array in host memory, or on GPU number `device`. It has no operations: other
    libraries take it as it is, through DLPack or NumPy's and CUDA's array interfaces. bf16 is
    uint16 in these two."""

    def __init__(self, shape, dtype, device=None):
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self.stream = None  # on a GPU, the CUstream that writes it; 1 is the default one
        size = int(_TYPESTR[dtype][2:]) * math.prod(self.shape)
        if device is None:
            self._memory = ctypes.create_string_buffer(size + _ALIGNMENT)
            begin = ctypes.addressof(self._memory)
            self.address = begin + -begin % _ALIGNMENT
        else:
            self._memory = _cuda.Memory(size, device)
            self.address = self._memory.address

    def __repr__(self):
        place = "the host" if self.device is None else f"GPU {self.device}"
        return f"<attnc array {self.dtype}{list(self.shape)} on {place}>"

    def written_on(self, handle):
        """A launch on a CUstream writes it. In host memory that has been done."""
        self.stream = None if self.device is None else _streams.named(handle)

    def _interface(self, **more):
        return {"version": 3, "shape": self.shape, "typestr": _TYPESTR[self.dtype],
                "strides": None, "data": (self.address, False), **more}

    @property
    def __array_interface__(self):
        if self.device is not None:
            raise AttributeError("an array on a GPU has __cuda_array_interface__")
        return self._interface()

    @property
    def __cuda_array_interface__(self):
        if self.device is None:
            raise AttributeError("an array in host memory has __array_interface__")
        return self._interface(stream=self.stream)

    def __dlpack_device__(self):
        return (_dlpack.CPU, 0) if self.device is None else (_dlpack.CUDA, self.device)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("attnc hands out its own memory, and makes no copies")
        if self.stream is not None and stream != _dlpack.NO_STREAM:
            _streams.wait_for([self.stream], stream, self.device)
        return _dlpack.lend(self, self.dtype, self.__dlpack_device__(),
                            max_version is not None and max_version[0] >= 1)
