"""Types of attnc.torch for editors and type checkers."""
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from attnc import Program

__all__ = ["op", "Operator", "attention", "ffpa_attn_func", "flex_attention", "fuse", "Fused",
           "elsa_attention", "nystrom_attention", "flash_nystrom_attention", "NystromAttention"]

native: bool

_Spec = str | os.PathLike[str] | Mapping[str, Any]

class Operator:
    name: str
    content: Mapping[str, Any]
    identity: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: tuple[str, ...]
    grad: tuple[str, ...]
    def __init__(self, name: str, identity: str, content: Mapping[str, Any],
                 grad: str | Sequence[str], set: Mapping[str, Any] | None,
                 schedule: Any) -> None: ...
    def __call__(self, *tensors: Tensor, **named: Any) -> Any: ...
    def program(self, *tensors: Tensor, grad: bool = False) -> Program: ...

class Fused:
    function: Callable[..., Any]
    def __init__(self, function: Callable[..., Any]) -> None: ...
    def __call__(self, *arguments: Any) -> Any: ...
    def spec(self, *arguments: Any) -> dict[str, Any]: ...

def op(spec: _Spec, grad: str | Sequence[str] = "all", set: Mapping[str, Any] | None = None,
       schedule: Any = None, name: str | None = None) -> Operator: ...
def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
              dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
              enable_gqa: bool = False) -> Tensor: ...
def flex_attention(query: Tensor, key: Tensor, value: Tensor,
                   score_mod: Callable[..., Tensor] | None = None, block_mask: Any = None,
                   scale: float | None = None, enable_gqa: bool = False,
                   kernel_options: Mapping[str, Any] | None = None, *,
                   mask_mod: Callable[..., Tensor] | None = None,
                   return_lse: bool = False) -> Any: ...
def ffpa_attn_func(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                   dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                   enable_gqa: bool = False) -> Tensor: ...
def elsa_attention(q: Tensor, k: Tensor, v: Tensor, *, bias: Tensor | None = None,
                   is_causal: bool = False, scale: float | None = None) -> Tensor: ...
def nystrom_attention(query: Tensor, key: Tensor, value: Tensor, num_landmarks: int = 64,
                      iterations: int = 6, weight: Tensor | None = None, *,
                      mask: Tensor | None = None, initial: str = "exact") -> Tensor: ...
def flash_nystrom_attention(q: Tensor, k: Tensor, v: Tensor, num_landmarks: int = 64,
                            newton_iter: int = 6, conv_weight: Tensor | None = None,
                            conv_kernel_size: int = 0, fast_dk2inv: bool = True) -> Tensor: ...

class NystromAttention(nn.Module):
    num_heads: int
    num_landmarks: int
    iterations: int
    initial: str
    qkv: nn.Linear
    out: nn.Linear
    conv: nn.Parameter | None
    def __init__(self, dim: int, num_heads: int = 8, num_landmarks: int = 64,
                 conv_kernel_size: int | None = None, iterations: int = 6, bias: bool = False,
                 device: Any = None, dtype: Any = None, *, out_bias: bool = True,
                 initial: str = "exact") -> None: ...
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor: ...

def fuse(function: Callable[..., Any]) -> Fused: ...
