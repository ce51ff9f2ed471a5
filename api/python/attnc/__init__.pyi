"""Types of the package for editors and type checkers."""
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from attnc.errors import (CompilationError as CompilationError, Error as Error,
                          InternalError as InternalError, InvalidArgument as InvalidArgument,
                          SpecError as SpecError, Unavailable as Unavailable)

__all__ = ["compile", "load", "version", "library", "Jit", "Program", "Plan", "Tensor", "Param",
           "Kernel", "Array", "Error", "InvalidArgument", "SpecError", "Unavailable",
           "CompilationError", "InternalError"]

# A name, a path, the text of a spec, or what json.load gives of one.
_Spec = str | os.PathLike[str] | Mapping[str, Any]
_Schedule = str | os.PathLike[str] | Mapping[str, Any] | None
# A tensor of PyTorch, or what has __dlpack__, __cuda_array_interface__ or __array_interface__.
_Tensor = Any

class Tensor(NamedTuple):
    name: str
    dtype: str
    dims: tuple[str, ...]
    align: int

class Param(NamedTuple):
    name: str
    dtype: str
    has_default: bool

class Kernel(NamedTuple):
    name: str
    form: str
    schedule: str
    notes: str
    threads: int
    shared_bytes: int
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    static_shared_bytes: int

class Array:
    shape: tuple[int, ...]
    dtype: str
    device: int | None
    stream: int | None
    address: int
    def __init__(self, shape: Sequence[int], dtype: str, device: int | None = None) -> None: ...
    def written_on(self, handle: int | None) -> None: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any: ...

class Plan:
    outputs: dict[str, _Tensor]
    def __init__(self, handle: Any, loaded: Any, tensors: Any, views: Any, device: Any,
                 outputs: Any) -> None: ...
    @property
    def workspace_bytes(self) -> int: ...
    def __call__(self, stream: Any = None, workspace: int | None = None) -> dict[str, _Tensor]: ...

class Program:
    name: str
    target: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    params: tuple[Param, ...]
    dims: dict[str, int | None]
    kernels: tuple[Kernel, ...]
    seconds: float
    nvrtc_seconds: float
    origin: str
    entry_names: tuple[str, ...]
    def __init__(self, handle: Any) -> None: ...
    def text(self, which: str, kernel: int = 0) -> str | bytes | None: ...
    def entry(self, name: str) -> Program: ...
    @property
    def backward(self) -> Program: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def warm_up(self, device: int | None = None) -> None: ...
    def load(self, device: int | None = None) -> Any: ...
    def shape_of(self, output: str, inputs: Mapping[str, Sequence[int]],
                 params: Mapping[str, float] | None = None) -> tuple[int, ...]: ...
    def launch(self, inputs: Mapping[str, _Tensor], outputs: Mapping[str, _Tensor] | None = None,
               params: Mapping[str, float] | None = None, stream: Any = None,
               memory_budget: int | None = None) -> Any: ...
    def bind(self, out: Any = None, memory_budget: int | None = None, **arguments: Any) -> Plan: ...
    def __call__(self, out: Any = None, stream: Any = None, memory_budget: int | None = None,
                 **arguments: Any) -> Any: ...

class Jit:
    def __init__(self, capacity: int = 256) -> None: ...
    def compile(self, spec: _Spec, target: str, set: Mapping[str, Any] | None = None,
                schedule: _Schedule = None, keep_texts: bool = False, allow_mlir: bool = False,
                cache: bool = True) -> Program: ...
    def stats(self) -> dict[str, int]: ...
    def clear(self) -> None: ...

def compile(spec: _Spec, target: str, set: Mapping[str, Any] | None = None,
            schedule: _Schedule = None, keep_texts: bool = False, allow_mlir: bool = False,
            cache: bool = True) -> Program: ...
def load(path: str | os.PathLike[str]) -> Program: ...
def library() -> list[str]: ...
def version() -> str: ...
