"""Gradients of operators: what PyTorch's key Autograd does with a call.

A call that wants gradients becomes one of the operation that saves for them, recorded as a node;
the node's backward pass calls the operation of the gradients."""
import contextlib

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from attnc import errors
from attnc.torch._calls import as_list


def is_plain(tensors):
    """False where PyTorch may do more with an operation than to compute it: gradients, transforms,
    modes, tensors of other classes."""
    wants_gradients = torch.is_grad_enabled()
    for tensor in tensors:
        if type(tensor) is not torch.Tensor or wants_gradients and tensor.requires_grad:
            return False
    return not (torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack()
                or torch._C._functorch.peek_interpreter_stack() is not None
                or forward_ad._current_level >= 0 or torch._C._get_tracing_state() is not None)


def compute(operator, *arguments):
    """Autograd of the operator itself: the operation that saves where a gradient is wanted."""
    count = len(operator.inputs)
    tensors = arguments[:count]
    results = _again(operator._plain, tensors, arguments[count:])
    if results is not None:
        return results
    _refuse_tangents(operator, tensors)
    if torch.is_grad_enabled():
        wanted = [n for n, t in zip(operator.inputs, tensors) if t.requires_grad]
        if wanted:
            operator._check_differentiable(wanted)
            absent = [None] * (count + len(operator.params) - len(arguments))
            results = _record(_Saving, operator, *arguments, *absent)[:len(operator.outputs)]
            return results[0] if len(results) == 1 else results
    with torch._C._AutoDispatchBelowAutograd():
        return operator._forward(*arguments)


def save(operator, *arguments):
    """Autograd of the operation that saves."""
    count = len(operator.inputs)
    results = _again(operator._saving, arguments[:count], arguments[count:])
    if results is not None:
        return as_list(results)
    _refuse_tangents(operator, arguments)
    if torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments):
        return list(_record(_Saving, operator, *arguments))
    with torch._C._AutoDispatchBelowAutograd():
        return operator._with_saved(*arguments)


def give(operator, *arguments):
    """Autograd of the operation of the gradients, which are not differentiated again."""
    count = len(operator.inputs)
    tensors = [t for t in (*arguments[:count], *arguments[count], *arguments[count + 1])
               if t is not None]
    _refuse_tangents(operator, tensors)
    if torch.is_grad_enabled() and torch._C._any_requires_grad(*tensors):
        return list(_record(_Gradients, operator, arguments, *tensors))
    with torch._C._AutoDispatchBelowAutograd():
        return operator._backward(*arguments)


def _again(calls, tensors, params):
    """A call like one before, where the dispatcher would come to nothing else; or None."""
    return calls.again(tensors, params) if is_plain(tensors) else None


def _refuse_tangents(operator, arguments):
    if forward_ad._current_level < 0 or not torch._C._is_fwd_grad_enabled():
        return
    for tensor in arguments:
        if isinstance(tensor, torch.Tensor) and forward_ad.unpack_dual(tensor).tangent is not None:
            raise errors.InvalidArgument(
                f"{operator._title}: there are no derivatives in forward mode (torch.func.jvp, "
                "jacfwd, dual numbers)",
                "use reverse mode: backward(), torch.func.vjp, grad or jacrev")


def _record(node, *arguments):
    # Within transforms of torch.func the node is of the one whose turn it is, as those of PyTorch's
    # own operations are.
    with enable_single_level_autograd_function():
        return node.apply(*arguments)


@contextlib.contextmanager
def _below():
    """For what a node calls. PyTorch runs a node's forward pass without gradients; but where
    transforms of torch.func are nested, the outer ones differentiate what it calls."""
    with torch._C._AutoDispatchBelowAutograd():
        if torch._C._functorch.peek_interpreter_stack() is None:
            yield
        else:
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                yield


def _outputs_with_saved(operator, arguments):
    count = len(operator.inputs)
    results = _again(operator._saving, arguments[:count], arguments[count:])
    if results is not None:
        return as_list(results)
    with _below():
        return operator._with_saved(*arguments)


class _Saving(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, operator, *arguments):
        inputs, outputs = len(operator.inputs), len(operator.outputs)
        results = _outputs_with_saved(operator, arguments)
        ctx.operator, ctx.params = operator, arguments[inputs:]
        ctx.save_for_backward(*arguments[:inputs], *results)
        ctx.mark_non_differentiable(*results[outputs:],
                                    *(t for t in results[:outputs] if not t.is_floating_point()))
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        operator, saved = ctx.operator, ctx.saved_tensors
        inputs, outputs = len(operator.inputs), len(operator.outputs)
        found = operator._backward(*saved[:inputs], list(saved[inputs:]), list(grads[:outputs]),
                                   *ctx.params)
        by_name = dict(zip(operator.grad, found))
        return (None, *(by_name.get(n) for n in operator.inputs), *(None for _ in ctx.params))


class _Gradients(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, operator, arguments, *tensors):
        ctx.operator = operator
        with _below():
            return tuple(operator._backward(*arguments))

    @staticmethod
    def backward(ctx, *_):
        raise errors.InvalidArgument(
            f"{ctx.operator._title}: gradients are not differentiated again")
