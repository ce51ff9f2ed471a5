"""Specs as operators of torch.library."""
import copy
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import threading

import torch

from attnc import _compilation, _spec_text, _specs, errors
from attnc.torch import _differentiation, _mapping
from attnc.torch._calls import Calls, as_list
from attnc.torch._graph import TYPES

_DTYPES = {name: dtype for dtype, name in TYPES.items()}
_CAST_BY_AUTOCAST = (torch.float16, torch.bfloat16, torch.float32)
_NAMESPACE = "attnc"


def op(spec, grad="all", set=None, schedule=None, name=None):
    """An operator that computes a spec: a name, a path, the text or a dict, as `attnc.compile`
    takes. It compiles when it is first called with tensors of a device, of element types and of
    static extents; `set`, which fixes some of these, and `schedule` are as for `attnc.compile`.

    `grad` lists the inputs whose gradients autograd may ask for; "all" are those of real numbers,
    () none. Calling the operator with another tensor that requires a gradient is an
    InvalidArgument. Gradients are not differentiable again.

    The operator is registered as `torch.ops.attnc.NAME`, where `name` is, without it, that of the
    spec and a number made of its content; asking for the same operator again gives the same one.
    """
    content = content_of(spec)
    options = (content, tuple(grad) if not isinstance(grad, str) else grad, set, schedule)
    identity = json.dumps(options, default=str)  # the order of inputs is part of it
    if name is None:
        digest = hashlib.sha256(identity.encode())
        name = f"{_identifier(content.get('name', 'spec'))}_{digest.hexdigest()[:12]}"
    elif not name.isidentifier():
        raise errors.InvalidArgument(f"'{name}' is no name of an operator", "use an identifier")
    with _lock:
        known = _operators.get(name)
        if known is None:
            known = _operators[name] = Operator(name, identity, *options)
        elif known.identity != identity:
            raise errors.InvalidArgument(f"there is an operator torch.ops.attnc.{name} already, "
                                         "of another spec or other options",
                                         "choose another name")
        return known


_operators: dict = {}
_lock = threading.Lock()


def content_of(spec):
    """A spec, as `op` takes it, as a dict that nobody else has, with what it extends."""
    path = None
    if isinstance(spec, dict):
        if "extends" not in spec:
            return copy.deepcopy(spec)
        text = json.dumps(spec)
    elif isinstance(spec, str) and spec.lstrip().startswith(("{", "/*", "//")):
        text = spec
    else:
        path = _specs.path_of(spec)
        try:
            text = pathlib.Path(path).read_text()
        except OSError as error:
            raise errors.InvalidArgument(
                f"cannot read the spec '{os.fspath(path)}': {error.strerror}",
                "give the name of a spec (attnc.library() lists them), a path, its text or a dict")
    try:
        content = _spec_text.read(text)
        return _spec_text.whole(text, path) if "extends" in content else content
    except json.JSONDecodeError as error:
        raise errors.SpecError(f"the spec is no JSON: {error}") from error


def _identifier(name):
    return re.sub(r"\W", "_", str(name))


class Operator:
    """A spec as an operator of PyTorch. Call it with the inputs in the order of the spec, or by
    name, and with params by name: it returns the output, or a tuple of them in the order of the
    spec if there are several. `inputs`, `outputs` and `params` are their names."""

    def __init__(self, name, identity, content, grad, set, schedule):
        self.name, self.identity, self.content = name, identity, content
        self._title = content.get("name", "the spec")
        self._set, self._schedule = dict(set or {}), schedule
        self._signature = _spec_text.signature(content)
        self.inputs = tuple(content.get("inputs", {}))
        self.outputs = tuple(content.get("outputs", {}))
        self.params = tuple(content.get("params", {}))
        self._check_names()
        dims = content.get("dims", {})
        # Where tensors say what is static: (input, axis) of a dim, (input) of a type.
        self._static = [(self.inputs.index(n), axis, dim) for n, (_, own) in self._signature.items()
                        for axis, dim in enumerate(own)
                        if isinstance(dims.get(dim), int) and dim not in self._set]
        self._typed = [(self.inputs.index(n), element) for n, (element, _) in
                       self._signature.items()
                       if element in content.get("types", {}) and element not in self._set]
        self._real = [n for n, (element, _) in self._signature.items()
                      if content.get("types", {}).get(element, element)
                      in ("f16", "bf16", "f32", "f64")]
        self.grad = tuple(self._real) if grad == "all" else tuple(grad)
        for other in self.grad:
            if other not in self._real:
                raise errors.InvalidArgument(
                    f"{self._title}: there is no input '{other}' of real numbers to differentiate",
                    "grad lists inputs: " + ", ".join(self._real))
        self._batch = _spec_text.batch_dim(content)
        self._batched = [self._batch is not None and
                        self._signature.get(n, ("", ()))[1][:1] == (self._batch,)
                        for n in self.inputs]
        self._programs, self._lock = {}, threading.Lock()
        self._no_params = (None,) * len(self.params)
        self._kinds = ["int" if text.split()[0].startswith("i") else "float"
                       for text in content.get("params", {}).values()]
        self._conditions = {n for n, element in content.get("outputs", {}).items()
                            if element == "bool"}
        # Of the program without gradients, of the one that saves for them, and of theirs.
        self._plain, self._saving, self._gradients = (Calls(self._kinds, self._conditions)
                                                      for _ in range(3))
        self._library = torch.library.Library(_NAMESPACE, "FRAGMENT")
        self._register()

    def _check_names(self):
        for n in itertools.chain(self.inputs, self.outputs, self.params):
            if not n.isidentifier():
                raise errors.InvalidArgument(f"{self._title}: '{n}' is no name in Python",
                                             "rename it in the spec")

    def __repr__(self):
        return f"<attnc operator {self._forward._schema}>"

    # --- calls ---------------------------------------------------------------------------------

    def __call__(self, *tensors, **named):
        params = self._no_params
        if named or len(tensors) != len(self.inputs):
            tensors, params = self._arguments(tensors, named)
        if torch.compiler.is_compiling() or torch._C._is_any_autocast_enabled() \
                or not _differentiation.is_plain(tensors):
            tensors = self._as_autocast_has(self._checked(tensors))
        else:
            results = self._plain.again(tensors, params)  # as the dispatcher would, but sooner
            if results is not None:
                return results
        return self._forward(*tensors, *params)

    def _arguments(self, tensors, named):
        """Tensors and params in the order of the spec; None for params that are not given."""
        if len(tensors) > len(self.inputs):
            raise errors.InvalidArgument(
                f"{self._title} takes {len(self.inputs)} tensors, {len(tensors)} were given",
                "its inputs are " + ", ".join(self.inputs) + "; params are passed by name")
        missing = [n for n in self.inputs[len(tensors):] if n not in named]
        if missing:
            raise errors.InvalidArgument(f"{self._title}: there is no tensor for "
                                         + ", ".join(missing))
        tensors += tuple(named.pop(n) for n in self.inputs[len(tensors):])
        params = tuple(named.pop(n, None) for n in self.params)
        if named:
            raise errors.InvalidArgument(
                f"{self._title} has no argument " + ", ".join(sorted(named)),
                "its inputs are " + ", ".join(self.inputs)
                + ("; its params " + ", ".join(self.params) if self.params else ""))
        return tensors, params

    def _checked(self, tensors):
        for n, tensor in zip(self.inputs, tensors):
            if not isinstance(tensor, torch.Tensor):
                raise errors.InvalidArgument(f"{n}: {type(tensor).__name__} is no tensor of "
                                             "PyTorch")
        return tensors

    def _as_autocast_has(self, tensors):
        """Inputs whose type the spec names are cast, others have the type that it says."""
        device = tensors[0].device.type if tensors else "cpu"
        if not torch.is_autocast_enabled(device):
            return tensors
        dtype, typed = torch.get_autocast_dtype(device), {index for index, _ in self._typed}
        return tuple(t.to(dtype) if i in typed and t.dtype in _CAST_BY_AUTOCAST else t
                     for i, t in enumerate(tensors))

    def _check_differentiable(self, wanted):
        other = [n for n in wanted if n not in self.grad]
        if other:
            raise errors.InvalidArgument(
                f"{self._title}: " + ", ".join(other) + " requires a gradient, and this operator "
                "has " + ("one for " + ", ".join(self.grad) if self.grad else "none"),
                f"ask for it: attnc.torch.op(..., grad={[*self.grad, *other]}), or detach what "
                "requires it")

    # --- programs ------------------------------------------------------------------------------

    def program(self, *tensors, grad=False):
        """The program that tensors like these are computed by, compiled if it is not known."""
        device = tensors[0].device if tensors else torch.device("cpu")
        extents = tuple(int(tensors[i].shape[axis]) if axis < tensors[i].dim() else None
                        for i, axis, _ in self._static)
        key = (device.type, device.index, grad, extents, tuple(tensors[i].dtype
                                                               for i, _ in self._typed))
        known = self._programs.get(key)
        if known is None:
            with self._lock:
                known = self._programs.get(key)
                if known is None:
                    known = self._programs[key] = self._compile(tensors, device, extents, grad)
        return known

    def _compile(self, tensors, device, extents, grad):
        chosen, from_where = dict(self._set), {}
        facts = [(dim, extent, self.inputs[i]) for (i, _, dim), extent in zip(self._static, extents)
                 if extent is not None]
        for i, element in self._typed:
            dtype = tensors[i].dtype
            if dtype not in TYPES:
                raise errors.InvalidArgument(f"{self.inputs[i]}: attnc has no element type {dtype}")
            facts.append((element, TYPES[dtype], self.inputs[i]))
        for what, value, name in facts:
            if what in from_where and chosen[what] != value:
                raise errors.InvalidArgument(
                    f"{self._title}: {what} is {chosen[what]} in {from_where[what]} and {value} in "
                    f"{name}", f"the spec says that both are {what}")
            chosen[what], from_where[what] = value, name
        content = {**self.content, "grad": list(self.grad)} if grad else \
            {key: value for key, value in self.content.items() if key != "grad"}
        return _jit().compile(content, target_of(device), set=chosen, schedule=self._schedule)

    # --- registration --------------------------------------------------------------------------

    def _register(self):
        tensors = [f"Tensor {n}" for n in self.inputs]
        params = [f"{kind}? {n}" for kind, n in zip(self._kinds, self.params)]
        gives = ["Tensor"] * len(self.outputs)
        self._forward = self._define(
            self.name, tensors + [f"{p}=None" for p in params], gives, self._run_forward,
            self._shapes_of_forward, _differentiation.compute, _mapping.forward)
        if not self.grad:
            return
        # Without defaults: PyTorch leaves out trailing arguments that are equal to theirs, and
        # wants a gradient for each of the others.
        self._with_saved = self._define(
            self.name + "_with_saved", tensors + params, ["Tensor[]"], self._run_with_saved,
            self._shapes_with_saved, _differentiation.save, _mapping.with_saved)
        self._backward = self._define(
            self.name + "_backward", [*tensors, "Tensor[] saved", "Tensor?[] grads", *params],
            ["Tensor[]"], self._run_backward, self._shapes_of_backward, _differentiation.give,
            _mapping.backward)

    def _define(self, name, takes, gives, run, shapes, differentiate, vmap):
        returned = gives[0] if len(gives) == 1 else f"({', '.join(gives)})"
        self._library.define(f"{name}({', '.join(takes)}) -> {returned}",
                             tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order))
        for key in ("CPU", "CUDA"):
            self._library.impl(name, run, key)
        self._library.impl(name, functools.partial(differentiate, self), "Autograd")
        full = f"{_NAMESPACE}::{name}"
        torch.library.register_fake(full, shapes, lib=self._library)
        torch.library.register_vmap(full, functools.partial(vmap, self), lib=self._library)
        return getattr(getattr(torch.ops, _NAMESPACE), name).default

    # --- forward -------------------------------------------------------------------------------

    def _run_forward(self, *arguments):
        return self._run(self._plain, False, arguments)

    def _run_with_saved(self, *arguments):
        return as_list(self._run(self._saving, True, arguments))

    def _run(self, calls, grad, arguments):
        count = len(self.inputs)
        tensors, params = arguments[:count], arguments[count:]
        results = calls.again(tensors, params)
        if results is not None:
            return results
        tensors = [_with_rows(t) for t in tensors]
        program = self.program(*tensors, grad=grad)
        return calls.first(program, [t.name for t in self._ordered(program)],
                           dict(zip(self.inputs, tensors)), params, self._given(program, params))

    def _given(self, program, params):
        """Those params that are given and that a program takes, by name."""
        taken = {p.name for p in program.params}
        return {n: value for n, value in zip(self.params, params)
                if value is not None and n in taken}

    def _ordered(self, program):
        """The outputs of the spec, then what is saved."""
        by_name = {t.name: t for t in program.outputs}
        return [by_name.pop(n) for n in self.outputs] + list(by_name.values())

    def _empty(self, tensors, program, wanted, arguments):
        """Tensors without values, as fake tensors want them."""
        sizes = dict(program.dims)
        for given in program.inputs:
            if given.name in arguments:
                sizes.update(zip(given.dims, arguments[given.name].shape))
        made = []
        for output in wanted:
            shape = [sizes.get(dim) for dim in output.dims]
            if None in shape:
                shape = program.shape_of(output.name, {n: t.shape for n, t in arguments.items()})
            dtype = torch.bool if output.name in self._conditions else _DTYPES[output.dtype]
            made.append(tensors[0].new_empty(shape, dtype=dtype))
        return made

    def _shapes_of_forward(self, *arguments):
        tensors = arguments[:len(self.inputs)]
        program = self.program(*tensors)
        made = self._empty(tensors, program, self._ordered(program),
                           dict(zip(self.inputs, tensors)))
        return made[0] if len(made) == 1 else tuple(made)

    def _shapes_with_saved(self, *arguments):
        tensors = arguments[:len(self.inputs)]
        program = self.program(*tensors, grad=True)
        return self._empty(tensors, program, self._ordered(program),
                           dict(zip(self.inputs, tensors)))

    # --- backward ------------------------------------------------------------------------------

    def _run_backward(self, *arguments):
        forward, inputs, params = self._backward_arguments(arguments)
        results = self._gradients.again(tuple(inputs.values()), params)
        if results is None:
            program = forward.backward
            results = self._gradients.first(
                program, ["grad_" + n for n in self.grad],
                {n: _with_rows(t) for n, t in inputs.items()}, params,
                self._given(program, params))
        return as_list(results)

    def _backward_arguments(self, arguments):
        """The program that saves, the inputs by name of that of the gradients, and all params."""
        count = len(self.inputs)
        tensors, (results, grads), params = \
            arguments[:count], arguments[count:count + 2], arguments[count + 2:]
        forward = self.program(*tensors, grad=True)
        known = dict(zip(self.inputs, tensors))
        for output, result in zip(self._ordered(forward), results):
            known[output.name] = result
        for n, result, grad in zip(self.outputs, results, grads):
            known["grad_" + n] = torch.zeros_like(result) if grad is None else grad
        return forward, {t.name: known[t.name] for t in forward.backward.inputs}, params

    def _shapes_of_backward(self, *arguments):
        by_name = dict(zip(self.inputs, arguments))
        return [torch.empty_like(by_name[n], memory_format=torch.contiguous_format)
                for n in self.grad]


def _with_rows(tensor):
    """A tensor whose last dim is contiguous, as programs want it: a copy where it is not."""
    if tensor.dim() == 0 or tensor.stride(-1) == 1 or tensor.shape[-1] == 1:
        return tensor
    return tensor.contiguous() if tensor.numel() else torch.empty_like(
        tensor, memory_format=torch.contiguous_format)


@functools.lru_cache(maxsize=None)
def _jit():
    return _compilation.Jit()


@functools.lru_cache(maxsize=None)
def target_of(device):
    """The target for a device of PyTorch: "cpu", or the architecture of its GPU."""
    if device.type == "cpu":
        return "cpu"
    if device.type != "cuda":
        raise errors.InvalidArgument(f"attnc has no target for {device}",
                                     "it computes on NVIDIA GPUs (cuda) and on the cpu")
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")
