"""Plain functions of PyTorch as one program."""
import functools

import torch

from attnc.torch import _capture, _graph, _operators, _translate

_MOST_CASES = 256


def fuse(function):
    """A function that computes what `function` does, a function of tensors (or a module) in plain
    PyTorch: products, softmax, masks, reductions, views and arithmetic. It is traced by
    torch.export, said as one spec and computed by one program; the first call with tensors of
    other shapes traces anew. Arguments that are no tensors are constants of the program. Gradients
    go to arguments, and to tensors that the function has captured.

    Intermediate values are f32, whatever type they have in PyTorch; a softmax over nothing but
    -inf is 0; and what a tensor of indices reads outside of another tensor is 0, also at negative
    indices. Raises InvalidArgument with the line of what has no spec.
    """
    return Fused(function)


class Fused:
    """What `fuse` gives. `spec(...)` of tensors is the spec that is computed for them."""

    def __init__(self, function):
        self.function, self._known = function, {}
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *arguments):
        case, tensors = self._case(arguments)
        return case(tensors)

    def spec(self, *arguments):
        """The spec for arguments like these, as a dict."""
        return self._case(arguments)[0].content

    def _case(self, arguments):
        given = [a for a in arguments if isinstance(a, torch.Tensor)]
        # Constants are part of the key as what the function has captured is.
        environment, tensors = _capture.environment(
            self.function, *(None if isinstance(a, torch.Tensor) else a for a in arguments))
        captured = [t for t in tensors if all(t is not g for g in given)]
        key = (environment, tuple(a.shape if isinstance(a, torch.Tensor) else None
                                  for a in arguments),
               tuple((t.shape, t.dtype, t.device, t.requires_grad) for t in (*given, *captured)),
               torch.is_grad_enabled())
        case = self._known.get(key)
        if case is None:
            if len(self._known) >= _MOST_CASES:
                del self._known[next(iter(self._known))]
            case = self._known[key] = _Case(self.function, arguments, captured)
        return case, [*given, *captured]


class _Case:
    """The operator for arguments of some shapes: which tensors it takes, and how they are seen."""

    def __init__(self, function, arguments, captured):
        given = [a for a in arguments if isinstance(a, torch.Tensor)]
        places = iter(range(len(given)))
        slots = [next(places) if isinstance(a, torch.Tensor) else None for a in arguments]

        def of_tensors(*tensors):
            return function(*(a if slot is None else tensors[slot]
                              for a, slot in zip(arguments, slots)))
        name = _capture.name_of(function)
        program, held = _capture.export(of_tensors, given, name)
        try:
            self._translate(name, program, held, given, captured)
        except _graph.Untraceable as error:
            raise _capture.refused(of_tensors, given, name, error) from None

    def _translate(self, name, program, held, given, captured):
        builder, numbers = _graph.Builder(), []

        def add(number):
            numbers.append(number)
            return f"x{number}"
        everything, inputs = [*given, *captured], {}
        values = _capture.hold(builder, held, everything, add, inputs)
        places = [n for n in program.graph.nodes if n.op == "placeholder" and n.name not in held]
        for number, node in enumerate(places):
            if node.users:
                if number not in inputs:
                    inputs[number] = builder.input(add(number), given[number].dtype,
                                                   given[number].shape)
                values[node.name] = inputs[number]
        nodes = [n for n in program.graph.nodes if n.op == "call_function"]
        _translate.translate(nodes, values, builder)
        for n, result in enumerate(program.graph.find_nodes(op="output")[0].args[0]):
            if not isinstance(result, torch.fx.Node):
                raise _graph.Untraceable("a result that is no tensor")
            builder.output(f"o{n}", values[result.name])
        if not numbers:
            raise _graph.Untraceable("no result depends on a tensor")
        self.content = builder.spec(_graph.word(name), "Traced from PyTorch")
        grad = [f"x{n}" for n in numbers if everything[n].requires_grad] \
            if torch.is_grad_enabled() else ()
        self._operator = _operators.op(self.content, grad=tuple(grad))
        self._takes = [(n, builder.view_of(f"x{n}")) for n in numbers]
        self._seen = [builder.seen_as(n) for n in builder.outputs]
        self._structure = program.call_spec.out_spec

    def __call__(self, tensors):
        taken = (tensors[n] if view is None else tensors[n].reshape(view)
                 for n, view in self._takes)
        results = self._operator(*taken)
        results = (results,) if isinstance(results, torch.Tensor) else results
        results = [r if seen is None else r.reshape(seen[0]).expand(seen[1])
                   for r, seen in zip(results, self._seen)]
        return torch.utils._pytree.tree_unflatten(results, self._structure)
