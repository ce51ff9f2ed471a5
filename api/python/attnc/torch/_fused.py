"""Plain functions of PyTorch as one program."""
import functools

import torch

from attnc.torch import _capture, _graph, _operators, _translate

_VIEWS = ("view", "reshape", "_unsafe_view", "unflatten", "flatten")
_SAME = ("contiguous", "clone")


def fuse(function):
    """A function that computes what `function` does, a function of tensors (or a module) in plain
    PyTorch: products, softmax, masks, reductions, views and arithmetic. It is traced by
    torch.export, said as one spec and computed by one program; the first call with tensors of
    other shapes traces anew. Arguments that are no tensors are constants of the program. Gradients
    go to arguments, and to tensors that the function has captured.

    Intermediate values are f32, whatever type they have in PyTorch. Raises InvalidArgument with
    the line of what has no spec.
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
        environment, captured = _capture.environment(self.function)
        given = [a for a in arguments if isinstance(a, torch.Tensor)]
        key = (environment, tuple((a.shape, a.dtype, a.device, a.requires_grad)
                                  if isinstance(a, torch.Tensor) else a for a in arguments),
               tuple(t.shape for t in captured), torch.is_grad_enabled())
        case = self._known.get(key)
        if case is None:
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
        builder = _graph.Builder()
        self._takes, names = [], []  # of each input: the number of its tensor, and its view
        graph = program.graph
        everything = [*given, *captured]

        def add(number, view=None):
            self._takes.append((number, view))
            names.append(f"x{number}")
            return names[-1]
        values = _capture.hold(builder, held, captured, lambda n: add(len(given) + n))
        users = [n for n in graph.nodes if n.op == "placeholder" and n.name not in held]
        for number, node in enumerate(users):
            view = _only_view(node)
            shape = given[number].shape if view is None else tuple(view.meta["val"].shape)
            if node.users:
                value = builder.input(add(number, view and shape), given[number].dtype, shape)
                values[(view or node).name] = values[node.name] = value
            else:
                values[node.name] = None
        nodes, results, self._views = _peeled(graph, values)
        self._seen = []  # the shapes of results whose program leaves axes out
        _translate.translate(nodes, values, builder)
        for n, result in enumerate(results):
            if not isinstance(result, torch.fx.Node):
                raise _graph.Untraceable("a result that is no tensor")
            value = values[result.name]
            seen = builder.output(f"o{n}", value)
            self._seen.append(seen and (seen, value.shape))
        self.content = builder.spec(_graph.word(name), "Traced from PyTorch")
        grad = [name for name, (number, _) in zip(names, self._takes)
                if everything[number].requires_grad] if torch.is_grad_enabled() else ()
        self._operator = _operators.op(self.content, grad=tuple(grad))
        self._structure = program.call_spec.out_spec

    def __call__(self, tensors):
        taken = (tensors[n] if view is None else tensors[n].reshape(view)
                 for n, view in self._takes)
        results = self._operator(*taken)
        results = (results,) if isinstance(results, torch.Tensor) else results
        results = [r if seen is None else r.reshape(seen[0]).expand(seen[1])
                   for r, seen in zip(results, self._seen)]
        results = [r if shape is None else r.reshape(shape)
                   for r, shape in zip(results, self._views)]
        return torch.utils._pytree.tree_unflatten(results, self._structure)


def _short_name(node):
    schema = getattr(node.target, "_schema", None)
    return schema.name.partition("::")[2] if schema else ""


def _only_view(placeholder):
    """The view that is all that is done with an argument: its tensor is seen so from the start."""
    if len(placeholder.users) == 1:
        user = next(iter(placeholder.users))
        if _short_name(user) in _VIEWS and user.args[0] is placeholder:
            return user
    return None


def _peeled(graph, known):
    """The nodes that are computed, the nodes of the results, and the shapes that these are seen in
    at last: views that end the graph are the caller's."""
    results, views = [], []
    for node in graph.find_nodes(op="output")[0].args[0]:
        view = None
        while isinstance(node, torch.fx.Node) and len(node.users) == 1 \
                and _short_name(node) in _VIEWS + _SAME and node.name not in known:
            if view is None and _short_name(node) in _VIEWS:
                view = tuple(node.meta["val"].shape)
            node = node.args[0]
        results.append(node)
        views.append(view)
    needed, waiting = set(), [n for n in results if isinstance(n, torch.fx.Node)]
    while waiting:
        node = waiting.pop()
        if node not in needed and node.name not in known:
            needed.add(node)
            waiting += node.all_input_nodes
    return [n for n in graph.nodes if n in needed], results, views
