"""Streams of PyTorch, CuPy and others, and who works on what memory."""
import functools
import sys

from attnc import _cuda

_DEFAULT = 1  # CU_STREAM_LEGACY, which 0 and None are too


@functools.lru_cache(maxsize=None)
def _raw_stream_query(torch):
    """PyTorch's shortest way from the number of a GPU to its current stream."""
    short = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return short or (lambda device: torch.cuda.current_stream(device).cuda_stream)


def current_stream(device):
    """The CUstream on which PyTorch works now on a GPU, or CuPy where PyTorch does not; None, the
    default stream, without either."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if device is None:
        return None
    if torch is not None and torch.cuda.is_initialized():
        return _raw_stream_query(torch)(device)
    return None if cupy is None else cupy.cuda.get_current_stream().ptr


def stream_handle(stream):
    """The CUstream that a caller has given."""
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return getattr(stream, attribute)
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    return stream


def launch_stream(stream, device):
    """The CUstream of a launch on a GPU: the caller's, else the current one."""
    return current_stream(device) if stream is None else stream_handle(stream)


def named(handle):
    """A CUstream as other libraries want to hear of it, to whom 0 says nothing."""
    return handle or _DEFAULT


def wait_for(producers, handle, device):
    """What is launched on a stream from now on waits for those streams that still write what it
    reads."""
    for producer in {*producers} - {None, named(handle)}:
        _cuda.wait(named(handle), producer, device)


def side_stream(stream, device):
    """PyTorch's object for a stream that is not its current one, or None. What tensors have on the
    current stream may be given to others while the other stream still works on it: see `keep`."""
    torch = sys.modules.get("torch")
    if stream is None or torch is None or device is None or not torch.cuda.is_initialized():
        return None
    handle = stream_handle(stream)
    if (handle or 0) == (current_stream(device) or 0):
        return None
    if hasattr(stream, "cuda_stream"):
        return stream
    if not handle:
        return torch.cuda.default_stream(device)
    return torch.cuda.ExternalStream(handle, device=device)


def keep(tensors, side):
    """Tells PyTorch's allocator that `side` works on these tensors: their memory is not given away
    before that is done, whenever they go."""
    if side is not None:
        for tensor in tensors:
            if hasattr(tensor, "record_stream"):
                tensor.record_stream(side)
