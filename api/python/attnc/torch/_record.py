"""The graph of a simple function of tensors, without torch.export, whose import alone takes longer
than to compile a program."""
import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
# What has a result for each element, although PyTorch does not say so.
_UNTAGGED = (aten._to_copy.default, aten.clone.default, aten.floor_divide.default)


class _Unsure(Exception):
    """The function does what only torch.export follows, or refuses."""


def _blank(shape, dtype):
    """A tensor without values: who asks for one gets an error."""
    return torch.empty((), dtype=dtype, device="meta").expand(shape)


def _joint_shape(tensors):
    """As torch.broadcast_shapes, which imports a computer algebra system."""
    return torch.broadcast_tensors(*tensors)[0].shape


def _of_elements(function, args, kwargs):
    """What has a result for each element: it is computed of one, in host memory. To compute on
    tensors without values PyTorch imports its compiler."""
    one = _pytree.tree_map_only(torch.Tensor, lambda t: torch.ones([1] * t.dim(), dtype=t.dtype),
                                args)
    tensors = [t for t in _pytree.tree_leaves(args) if isinstance(t, torch.Tensor)]
    return _blank(_joint_shape(tensors), function(*one, **kwargs).dtype)


def _read(function, args, kwargs):
    """Elements of a tensor at indices of its first dims."""
    tensor, indices = args
    if any(index is None or index.dtype == torch.bool for index in indices):
        raise _Unsure
    return _blank((*_joint_shape(indices), *tensor.shape[len(indices):]), tensor.dtype)


def _rule(function, args, kwargs):
    """How to find the shape and type of a result without its values."""
    if torch.Tag.nondeterministic_seeded in function.tags \
            or any(isinstance(t, torch.Tensor) for t in _pytree.tree_leaves(kwargs)):
        raise _Unsure
    has_tensors = any(isinstance(t, torch.Tensor) for t in _pytree.tree_leaves(args))
    if function is aten.index.Tensor:
        return _read
    if torch.Tag.pointwise in function.tags or function in _UNTAGGED:
        return _of_elements if has_tensors else _computed
    if function.is_view or not has_tensors:
        return _computed
    raise _Unsure


def _computed(function, args, kwargs):
    return function(*args, **kwargs)


class _Recorder(TorchDispatchMode):
    """Writes down what is done with tensors, and does not do it."""

    def __init__(self):
        super().__init__()
        self.graph, self.held = torch.fx.Graph(), {}
        self._nodes = {}  # by identity: of each tensor, which it keeps, the node

    @classmethod
    def _should_skip_dynamo(cls):
        """PyTorch would import its compiler, to keep it away from what follows."""
        return False

    def add(self, tensor, node):
        node.meta["val"] = tensor
        self._nodes[id(tensor)] = tensor, node
        return tensor

    def node_of(self, tensor):
        """What is neither an argument nor made of these is read besides."""
        if id(tensor) not in self._nodes:
            if tensor.is_meta:
                raise _Unsure
            name = f"held_{len(self.held)}"
            self.held[name] = tensor
            self.add(tensor, self.graph.placeholder(name))
        return self._nodes[id(tensor)][1]

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is aten.lift_fresh.default:  # a number has become a tensor
            return args[0]
        if function._schema.is_mutable:
            raise _Unsure
        result = _rule(function, args, kwargs)(function, args, kwargs)
        if not isinstance(result, torch.Tensor):
            raise _Unsure
        return self.add(result, self.graph.call_function(
            function, _pytree.tree_map_only(torch.Tensor, self.node_of, args), kwargs))


def record(function, arguments):
    """The graph of a function at tensors, whose values do not count, and by the names of what else
    it reads these tensors; None where torch.export has to look. Of operations there are those with
    a result for each element, reads at indices, and views."""
    recorder = _Recorder()
    given = [recorder.add(_blank(t.shape, t.dtype), recorder.graph.placeholder(f"argument_{n}"))
             for n, t in enumerate(arguments)]
    try:
        with torch.no_grad(), recorder:
            result = function(*given)
    except Exception:  # torch.export finds it too, and says it better
        return None
    is_tensor = isinstance(result, torch.Tensor)
    recorder.graph.output([recorder.node_of(result) if is_tensor else result])
    return recorder.graph, recorder.held
