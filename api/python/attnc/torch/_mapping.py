"""vmap of operators: the mapped dim and that of the batch become one dim of one call, if the spec
has a batch; else there is a call for each index."""
import torch

from attnc import errors


def forward(operator, info, in_dims, *arguments):
    return _of_inputs(operator, operator._forward, False, info, in_dims, arguments)


def with_saved(operator, info, in_dims, *arguments):
    return _of_inputs(operator, operator._with_saved, True, info, in_dims, arguments)


def backward(operator, info, in_dims, *arguments):
    count, size = len(operator.inputs), info.batch_size
    tensors = _joined(size, arguments[:count], in_dims[:count], operator._batched)
    if tensors is not None:
        saving = operator.program(*tensors, grad=True)
        if _all_batched(operator, saving.outputs + saving.backward.outputs):
            saved, grads = (_joined(size, arguments[n], in_dims[n], [True] * len(arguments[n]))
                            for n in (count, count + 1))
            own = _own_batch(arguments[:count], in_dims[:count], operator._batched)
            return _apart(size, own,
                          operator._backward(*tensors, saved, grads, *arguments[count + 2:]))
    return _one_by_one(operator._backward, info, in_dims, arguments)


def _of_inputs(operator, operation, grad, info, in_dims, arguments):
    count, size = len(operator.inputs), info.batch_size
    tensors = _joined(size, arguments[:count], in_dims[:count], operator._batched)
    if tensors is not None and _all_batched(operator,
                                            operator.program(*tensors, grad=grad).outputs):
        own = _own_batch(arguments[:count], in_dims[:count], operator._batched)
        return _apart(size, own, operation(*tensors, *arguments[count:]))
    return _one_by_one(operation, info, in_dims, arguments)


def _all_batched(operator, outputs):
    return all(output.dims[:1] == (operator._batch,) for output in outputs)


def _joined(size, tensors, dims, batched):
    """Tensors with the mapped dim in that of the batch; None if one is mapped that has no batch."""
    dims = dims if isinstance(dims, (list, tuple)) else [dims] * len(tensors)
    if any(dim is not None and not own for dim, own in zip(dims, batched)):
        return None
    return [_join(size, tensor, dim) if own and tensor is not None else tensor
            for tensor, dim, own in zip(tensors, dims, batched)]


def _join(size, tensor, dim):
    whole = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return whole.reshape(size * whole.shape[1], *whole.shape[2:])


def _own_batch(tensors, dims, batched):
    """The extent of the batch in one of the calls that are mapped."""
    tensor, dim = next((t, d) for t, d, own in zip(tensors, dims, batched) if own)
    return tensor.shape[0] if dim is None else tensor.movedim(dim, 0).shape[1]


def _apart(size, own, results):
    def apart(result):
        return result.reshape(size, own, *result.shape[1:])
    if isinstance(results, torch.Tensor):
        return apart(results), 0
    kind = type(results)
    return kind(map(apart, results)), kind([0] * len(results))


def _one_by_one(operation, info, in_dims, arguments):
    if not info.batch_size:
        raise errors.InvalidArgument("vmap over no elements, of a spec without a batch",
                                     "such a call gives no shapes: map at least one element")

    def at(index, argument, dim):
        if isinstance(argument, (list, tuple)):
            dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(argument)
            return [at(index, a, d) for a, d in zip(argument, dims)]
        return argument if dim is None else argument.select(dim, index)
    results = [operation(*(at(index, a, d) for a, d in zip(arguments, in_dims)))
               for index in range(info.batch_size)]
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results), 0
    stacked = [torch.stack(each) for each in zip(*results)]
    kind = type(results[0])
    return kind(stacked), kind([0] * len(stacked))
