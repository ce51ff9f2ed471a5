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
from attnc.torch._graph import TYPES

_DTYPES = {name: dtype for dtype, name in TYPES.items()}
_CAST_BY_AUTOCAST = (torch.float16, torch.bfloat16, torch.float32)
_NAMESPACE = "attnc"
_MOST_SHAPES = 1024


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
    """A spec, as `op` takes it, as a dict that nobody else has."""
    if isinstance(spec, dict):
        return copy.deepcopy(spec)
    if isinstance(spec, str) and spec.lstrip().startswith(("{", "/*", "//")):
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
        return _spec_text.read(text)
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
        self._conditions = [n for n, element in content.get("outputs", {}).items()
                            if element == "bool"]
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
        batch = self._batch = _spec_text.batch_dim(content)
        self._batched = [self._signature.get(n, ("", ()))[1][:1] == (batch,) for n in self.inputs]
        self._programs, self._lock = {}, threading.Lock()
        self._of_shapes = {}  # the programs again, found without asking what is static
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
        tensors, params = self._arguments(tensors, named)
        if torch.compiler.is_compiling() or _is_transformed(tensors):
            return self._forward(*tensors, *params)
        return self._run_forward(*tensors, *params)  # as PyTorch's dispatcher would, twice as fast

    def _arguments(self, tensors, named):
        if len(tensors) > len(self.inputs):
            raise errors.InvalidArgument(
                f"{self._title} takes {len(self.inputs)} tensors, {len(tensors)} were given",
                "its inputs are " + ", ".join(self.inputs) + "; params are passed by name")
        if len(tensors) < len(self.inputs):
            missing = [n for n in self.inputs[len(tensors):] if n not in named]
            if missing:
                raise errors.InvalidArgument(f"{self._title}: there is no tensor for "
                                             + ", ".join(missing))
            tensors += tuple(named.pop(n) for n in self.inputs[len(tensors):])
        params = [named.pop(n, None) for n in self.params]
        if named:
            raise errors.InvalidArgument(
                f"{self._title} has no argument " + ", ".join(sorted(named)),
                "its inputs are " + ", ".join(self.inputs)
                + ("; its params " + ", ".join(self.params) if self.params else ""))
        for n, tensor in zip(self.inputs, tensors):
            if not isinstance(tensor, torch.Tensor):
                raise errors.InvalidArgument(f"{n}: {type(tensor).__name__} is no tensor of "
                                             "PyTorch")
        device = tensors[0].device.type if tensors else "cpu"
        if torch.is_autocast_enabled(device):
            tensors = self._autocast(tensors, torch.get_autocast_dtype(device))
        return tensors, params

    def _autocast(self, tensors, dtype):
        """Inputs whose type the spec names are cast, others have the type that it says."""
        typed = {index for index, _ in self._typed}
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
        kinds = {n: "int" if text.split()[0].startswith("i") else "float"
                 for n, text in self.content.get("params", {}).items()}
        tensors = [f"Tensor {n}" for n in self.inputs]
        params = [f"{kinds[n]}? {n}" for n in self.params]
        gives = ["Tensor"] * len(self.outputs)
        self._forward = self._define(
            self.name, tensors + [f"{p}=None" for p in params], gives, self._run_forward,
            self._shapes_of_forward, self._map)
        self._library.impl(self.name, self._choose, "Autograd")
        if not self.grad:
            return
        # Without defaults: PyTorch leaves out trailing arguments that are equal to theirs, and
        # wants a gradient for each of the others.
        self._with_saved = self._define(self.name + "_with_saved", tensors + params, ["Tensor[]"],
                                        self._run_with_saved, self._shapes_with_saved)
        self._backward = self._define(
            self.name + "_backward", [*tensors, "Tensor[] saved", "Tensor?[] grads", *params],
            ["Tensor[]"], self._run_backward, self._shapes_of_backward)
        torch.library.register_autograd(self._with_saved, self._differentiate,
                                        setup_context=self._save, lib=self._library)

        def refuse(ctx, *_):
            raise errors.InvalidArgument(f"{self._title}: gradients are not differentiated again")
        torch.library.register_autograd(self._backward, refuse, lib=self._library)

    def _define(self, name, takes, gives, run, shapes, vmap=None):
        returned = gives[0] if len(gives) == 1 else f"({', '.join(gives)})"
        self._library.define(f"{name}({', '.join(takes)}) -> {returned}",
                             tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order))
        for key in ("CPU", "CUDA"):
            self._library.impl(name, run, key)
        full = f"{_NAMESPACE}::{name}"
        torch.library.register_fake(full, shapes, lib=self._library)
        torch.library.register_vmap(full, vmap or functools.partial(_one_by_one, full),
                                    lib=self._library)
        return getattr(getattr(torch.ops, _NAMESPACE), name).default

    def _choose(self, *arguments):
        """What saves for the backward pass where a gradient is asked for, else the plain one."""
        if torch.is_grad_enabled():
            tensors = arguments[:len(self.inputs)]
            wanted = [n for n, t in zip(self.inputs, tensors) if t.requires_grad]
            if wanted:
                self._check_differentiable(wanted)
                absent = [None] * (len(self.inputs) + len(self.params) - len(arguments))
                results = self._with_saved(*arguments, *absent)[:len(self.outputs)]
                return results[0] if len(self.outputs) == 1 else tuple(results)
        with torch._C._AutoDispatchBelowAutograd():
            return self._forward(*arguments)

    # --- forward -------------------------------------------------------------------------------

    def _run(self, grad, arguments):
        count = len(self.inputs)
        tensors = [_with_rows(t) for t in arguments[:count]]
        given = {n: v for n, v in zip(self.params, arguments[count:]) if v is not None}
        key = (grad, *[(t.shape, t.dtype, t.device) for t in tensors])
        program = self._of_shapes.get(key)
        if program is None:
            if len(self._of_shapes) >= _MOST_SHAPES:
                self._of_shapes.clear()
            program = self._of_shapes[key] = self.program(*tensors, grad=grad)
        results = program.launch(dict(zip(self.inputs, tensors)), params=given)
        if not isinstance(results, dict):
            results = {program.outputs[0].name: results}
        for n in self._conditions:
            results[n] = results[n].view(torch.bool)
        return program, results

    def _run_forward(self, *arguments):
        program, results = self._run(False, arguments)
        if len(self.outputs) == 1:
            return results[self.outputs[0]]
        return tuple(results[n] for n in self.outputs)

    def _run_with_saved(self, *arguments):
        program, results = self._run(True, arguments)
        return [results[t.name] for t in self._ordered(program)]

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

    def _map(self, info, in_dims, *arguments):
        """vmap: the mapped dim and that of the batch are one dim of the program, if the spec has a
        batch; else index by index."""
        count = len(self.inputs)
        tensors, dims = arguments[:count], in_dims[:count]
        if self._batch is None or any(d is not None and not own
                                      for d, own in zip(dims, self._batched)):
            return _one_by_one(f"{_NAMESPACE}::{self.name}", info, in_dims, *arguments)
        size = info.batch_size

        def joined(tensor, dim):
            whole = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
            return whole.reshape(size * whole.shape[1], *whole.shape[2:])
        tensors = [joined(t, d) if own else t for t, d, own in zip(tensors, dims, self._batched)]
        outputs = self.program(*tensors).outputs
        if any(output.dims[:1] != (self._batch,) for output in outputs):
            return _one_by_one(f"{_NAMESPACE}::{self.name}", info, in_dims, *arguments)
        results = self._forward(*tensors, *arguments[count:])

        def apart(result):
            return result.reshape(size, -1, *result.shape[1:])
        if isinstance(results, torch.Tensor):
            return apart(results), 0
        return tuple(map(apart, results)), (0,) * len(results)

    # --- backward ------------------------------------------------------------------------------

    def _save(self, ctx, inputs, output):
        count = len(self.inputs)
        ctx.params = inputs[count:]
        ctx.save_for_backward(*inputs[:count], *output)
        ctx.mark_non_differentiable(*(t for t in output[len(self.outputs):]),
                                    *(t for t in output[:len(self.outputs)]
                                      if not t.is_floating_point()))

    def _differentiate(self, ctx, grads):
        count, outputs = len(self.inputs), len(self.outputs)
        saved = ctx.saved_tensors
        inputs, results = saved[:count], saved[count:]
        found = self._backward(*inputs, list(results), list(grads[:outputs]), *ctx.params)
        by_name = dict(zip(self.grad, found))
        return (*(by_name.get(n) for n in self.inputs), *(None for _ in self.params))

    def _backward_arguments(self, arguments):
        """The backward program and its inputs by name; and the params that it takes."""
        count = len(self.inputs)
        tensors, (results, grads), params = \
            arguments[:count], arguments[count:count + 2], arguments[count + 2:]
        forward = self.program(*tensors, grad=True)
        known = dict(zip(self.inputs, tensors))
        for output, result in zip(self._ordered(forward), results):
            known[output.name] = result
        for n, result, grad in zip(self.outputs, results, grads):
            known["grad_" + n] = torch.zeros_like(result) if grad is None else grad
        backward = forward.backward
        names = {p.name for p in backward.params}
        given = {n: value for n, value in zip(self.params, params)
                 if value is not None and n in names}
        return backward, {t.name: known[t.name] for t in backward.inputs}, given

    def _run_backward(self, *arguments):
        backward, inputs, params = self._backward_arguments(arguments)
        results = backward.launch({n: _with_rows(t) for n, t in inputs.items()}, params=params)
        if not isinstance(results, dict):
            results = {backward.outputs[0].name: results}
        return [results["grad_" + n] for n in self.grad]

    def _shapes_of_backward(self, *arguments):
        by_name = dict(zip(self.inputs, arguments))
        return [torch.empty_like(by_name[n], memory_format=torch.contiguous_format)
                for n in self.grad]


def _is_transformed(tensors):
    """True where PyTorch does more with an operation than to compute it: gradients, transforms,
    modes, tensors of other classes."""
    wants_gradients = torch.is_grad_enabled()
    for tensor in tensors:
        if type(tensor) is not torch.Tensor or wants_gradients and tensor.requires_grad:
            return True
    return torch._C._len_torch_dispatch_stack() > 0 or torch._C._len_torch_function_stack() > 0 \
        or torch._C._functorch.peek_interpreter_stack() is not None


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


def _one_by_one(full, info, in_dims, *arguments):
    """vmap: one call for each index of the mapped dim, stacked."""
    namespace, name = full.split("::")
    operator = getattr(getattr(torch.ops, namespace), name).default

    def at(index, argument, dim):
        if isinstance(argument, (list, tuple)):
            dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(argument)
            return [at(index, a, d) for a, d in zip(argument, dims)]
        return argument if dim is None else argument.select(dim, index)
    results = [operator(*(at(index, a, d) for a, d in zip(arguments, in_dims)))
               for index in range(info.batch_size)]
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results), 0
    stacked = [torch.stack(each) for each in zip(*results)]
    dims = [0] * len(stacked)
    return (stacked, dims) if isinstance(results[0], list) else (tuple(stacked), tuple(dims))
