"""The functions of the CUDA driver that this package calls itself: memory, and order of streams."""
import contextlib
import ctypes
import functools

from attnc import errors

_DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING


@functools.lru_cache(maxsize=None)
def _driver():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise errors.Unavailable(f"no CUDA driver: {error}",
                                 "install the NVIDIA driver, or compile for the cpu") from None
    _check("cuInit", driver.cuInit(0))
    return driver


def _check(name, result):
    if result:
        raise errors.Unavailable(f"{name} failed with error {result} of the CUDA driver")


def _call(name, *arguments):
    _check(name, getattr(_driver(), name)(*arguments))


@contextlib.contextmanager
def _context_of(device):
    """The context in which PyTorch and others work on a GPU; the current one for None."""
    if device is None:
        yield
        return
    context = ctypes.c_void_p()
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    try:
        _call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            _call("cuCtxPopCurrent_v2", ctypes.byref(context))
    finally:
        _call("cuDevicePrimaryCtxRelease_v2", device)


def wait(stream, producer, device):
    """Work that is put on `stream` from now on waits for what `producer` has to do by now."""
    event = ctypes.c_void_p()
    with _context_of(device):
        _call("cuEventCreate", ctypes.byref(event), _DISABLE_TIMING)
        try:
            _call("cuEventRecord", event, ctypes.c_void_p(producer))
            _call("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)
        finally:
            _call("cuEventDestroy_v2", event)  # which the driver defers until it is waited for


class Memory:
    """Memory of a GPU. It is freed with this object, after all work that the GPU has then."""

    def __init__(self, size, device):
        self._device, address = device, ctypes.c_uint64()
        with _context_of(device):
            _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        self.address = address.value

    def __del__(self):
        if hasattr(self, "address"):
            with _context_of(self._device):
                _call("cuMemFree_v2", ctypes.c_uint64(self.address))
