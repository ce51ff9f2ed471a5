"""What a Python function of tensors depends on besides its arguments, and its graph."""
import functools
import os
import sys
import types

import torch

from attnc import errors
from attnc.torch import _graph

_OURS = (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(torch.__file__))


class _Function(torch.nn.Module):
    """torch.export wants a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def environment(*functions):
    """A key that is equal for functions that compute the same of the same arguments and of the
    tensors that they read besides, and these tensors, in an order that the key fixes. What the key
    has by its identity is in the key, so that no other object takes its place."""
    tensors, seen = [], {}

    def key(value):
        if isinstance(value, torch.Tensor):
            if id(value) not in seen:
                seen[id(value)] = len(tensors)
                tensors.append(value)
            return ("tensor", seen[id(value)], value.dtype, value.device, value.requires_grad)
        if isinstance(value, _PLAIN):
            return type(value), repr(value)  # 1, 1.0 and True are equal, and so are 0.0 and -0.0
        if id(value) in seen:
            return seen[id(value)]
        seen[id(value)] = ("seen", len(seen))
        if isinstance(value, (tuple, list)):
            return type(value), tuple(map(key, value))
        if isinstance(value, dict):
            return type(value), tuple((key(k), key(v)) for k, v in value.items())
        if isinstance(value, types.FunctionType):
            code = value.__code__
            cells = tuple(key(_content(cell)) for cell in value.__closure__ or ())
            names = tuple((n, key(value.__globals__[n])) for n in _names(code)
                          if n in value.__globals__)
            return code, cells, names, key(value.__defaults__), key(value.__kwdefaults__)
        if isinstance(value, types.MethodType):
            return key(value.__func__), key(value.__self__)
        if isinstance(value, functools.partial):
            return functools.partial, key(value.func), key(value.args), key(value.keywords)
        if isinstance(value, types.ModuleType) or _is_of_a_library(
                value if isinstance(value, type) else type(value)):
            return _Same(value), key(vars(value)) if isinstance(value, torch.nn.Module) else None
        if isinstance(value, type):
            return value, tuple((n, key(v)) for n, v in vars(value).items()
                                if not n.startswith("__"))
        return _Same(value), key(type(value)), tuple((n, key(v)) for n, v in _attributes(value))
    return tuple(map(key, functions)), tensors


_PLAIN = (int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device)


class _Same:
    """Equal to what holds the same object, which it keeps."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self):
        return id(self.value)


def _is_of_a_library(kind):
    """True of classes whose attributes are no numbers of the caller's."""
    return kind.__module__.partition(".")[0] in ("builtins", "torch", "numpy", "math", "functools",
                                                 "collections", "types", "operator", "attnc")


def _attributes(value):
    """The names and values of an object's own attributes."""
    yield from getattr(value, "__dict__", {}).items()
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _names(code):
    """The global names of a function and of those within it."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _names(constant)
    return sorted(set(names))


def export(function, arguments, name):
    """The graph of a function at tensors, and by the names of what else it reads these tensors.
    Errors speak of `name`."""
    try:
        with torch.no_grad():
            program = torch.export.export(_Function(function), tuple(arguments))
            program = program.run_decompositions({})  # what writes into tensors makes new ones
    except Exception as error:
        raise errors.InvalidArgument(
            f"PyTorch cannot trace {name}: {_first_lines(error)}",
            "write it with operations of tensors alone, without branches on values") from error
    signature, held = program.graph_signature, {}
    for node, target in (*signature.inputs_to_lifted_tensor_constants.items(),
                         *signature.inputs_to_parameters.items(),
                         *signature.inputs_to_buffers.items()):
        held[node] = program.constants[target] if target in program.constants \
            else program.state_dict[target]
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise errors.InvalidArgument(f"{name} writes into its tensors",
                                     "compute new ones")
    return program, held


class _Lines(torch.overrides.TorchFunctionMode):
    """Notes where functions of PyTorch are called first, by name."""

    def __init__(self):
        super().__init__()
        self.lines = {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_OURS):
            frame = frame.f_back
        if frame is not None:
            name = getattr(function, "__name__", "").strip("_")
            self.lines.setdefault(name, f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return function(*args, **(kwargs or {}))


# What operations of ATen are called by, besides their own names.
_ALIASES = {"slice": "getitem", "select": "getitem", "index": "getitem",
            "linalg_vector_norm": "norm", "_to_copy": "to"}


def line_of(function, arguments, operation):
    """Where a function calls an operation of ATen, as "file:line"; where that is not found, its
    own first line, or "". It is run for that."""
    try:
        with _Lines() as mode, torch.no_grad():
            function(*arguments)
    except Exception:  # whatever it is, it is not what is asked about
        pass
    code = getattr(function, "__code__", None)
    own = f"{code.co_filename}:{code.co_firstlineno}" \
        if code and not code.co_filename.startswith(_OURS) else ""
    names = (operation.strip("_"), _ALIASES.get(operation, ""))
    return next((mode.lines[n] for n in names if n in mode.lines), own)


def hold(builder, held, tensors, add, values):
    """Values for what a graph reads besides its arguments. `tensors` are those that were captured;
    `add(number)` names the input for one of them, and `values` has those that are inputs already.
    Numbers that the function has made are text."""
    known = {}
    for name, tensor in held.items():
        number = next((n for n, t in enumerate(tensors) if _are_one(t, tensor)), None)
        if number is not None:
            if number not in values:
                values[number] = builder.input(add(number), tensor.dtype, tensor.shape)
            known[name] = values[number]
        elif tensor.numel() == 1:
            known[name] = _graph.Value(_graph.constant(tensor.item()), (None,) * tensor.dim(),
                                       tensor.dtype, tuple(tensor.shape))
        else:
            raise _graph.Untraceable("it reads a tensor that it has made of numbers, or that is "
                                     "not where it was found before: capture it, or pass it")
    return known


def _are_one(x, y):
    return x is y or x.numel() > 0 and x.data_ptr() == y.data_ptr() and x.shape == y.shape \
        and x.stride() == y.stride() and x.dtype == y.dtype


def refused(function, arguments, name, error):
    """What to raise for a graph of a function at arguments that has no spec."""
    place = line_of(function, arguments, error.args[1]) if len(error.args) > 1 else ""
    return errors.InvalidArgument(
        f"{name} cannot be a spec: {error.args[0]}" + (f"\n  at {place}" if place else ""),
        "leave this operation outside of the function, or write the spec by hand")


def name_of(function):
    """What to call a function in errors."""
    return getattr(function, "__name__", type(function).__name__)


def _first_lines(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return "\n  ".join(lines[:3]) or type(error).__name__

