"""Any spec as a function of PyTorch's operations, as one would write it by hand: sums of products are matrix
products in the type of 16-bit tensors, softmax is in f32, subscripts are slices or indices.

`source` writes it, for one shape; it needs no PyTorch. What it does not write raises NotSaid. `function` is the
program. Infinities that tensors hold and reductions over nothing are as PyTorch has them, and not as the spec.
"""
import dataclasses

from cliff import language, torch_operations as operations, torch_reads, torch_reductions
from cliff.shapes import Extents, ragged_dims, tensor_type
from cliff.torch_code import ANY, HALVES, Code, NotSaid, Value, known

_TWO = {"and": operations.joined, "or": operations.joined, "+": operations.arithmetic,
        "-": operations.arithmetic, "*": operations.arithmetic, "//": operations.floored,
        "%": operations.floored, **dict.fromkeys(operations.COMPARISONS, operations.compared)}


def source(content, shape, params=None, device="cuda"):
    """The text of a module with the function `program`, which takes the inputs in their order and returns the
    outputs by name. `params` are those without a default."""
    if ragged_dims(content):
        raise NotSaid("packed sequences, whose rows PyTorch pads or nests")
    return Writer(content, shape, params or {}, device).text()


def function(text):
    """The program of a text."""
    module = {}
    exec(compile(text, "torch_program", "exec"), module)  # the text is our own
    return module["program"]


class Writer:
    """What the names of one spec stand for, and the code of its program so far."""

    def __init__(self, content, shape, params, device):
        self.content, self.params = content, params
        self.types = {name: tensor_type(content, text) for name, text in content["inputs"].items()}
        stated = content.get("dims") or {}
        dims = dict.fromkeys([dim for _, dims in self.types.values() for dim in dims] + list(stated))
        self.code = Code(Extents(content, shape), dims, device)
        self.of_lengths = {dim: language.expression(given["extent"]) for dim, given in stated.items()
                           if isinstance(given, dict)}
        self.scope, self.labelled, self.lengths = {}, set(), {}

    def text(self):
        arguments = ", ".join([self.argument(name) for name in self.types])
        self.run(language.body(self.content["body"]))
        outputs = ", ".join(f"{name!r}: {self.output(name)}" for name in self.content["outputs"])
        body = self.code.text("{" + outputs + "}")
        return f"import torch\nfrom math import inf, nan\n\n\ndef program({arguments}):\n{body}"

    def argument(self, name):
        """The parameter of the function for an input."""
        kind, dims = self.types[name]
        variable = self.code.variable(name)
        value = Value(variable, dims, kind, data=True, half=kind if kind in HALVES else None, given=True)
        if kind not in ("f64", "f32", *HALVES):
            value = dataclasses.replace(value, half=ANY, small=kind in ("i8", "u8"))
            if kind not in ("bool", "i64"):  # in PyTorch a tensor of u8 is a mask, not an index
                value = dataclasses.replace(value, code=f"{variable}.to(torch.int64)", type="i64")
        self.scope[name] = value
        return variable

    # --- statements ------------------------------------------------------------------------

    def run(self, statements):
        for statement in statements:
            if isinstance(statement, language.Repeat):
                self.repeat(statement)
            else:
                self.assign(statement)

    def repeat(self, statement):
        for _ in range(self.value(statement.count).known):
            before = dict(self.scope)
            self.run(statement.body)
            self.scope = {**before, **{name: self.scope[name] for name in statement.carry}}

    def assign(self, statement):
        value = self.code.renamed(self.value(statement.value), statement.name)
        if statement.label is not None and value.known is None:
            value = dataclasses.replace(value, code=self.code.aligned(value, statement.label),
                                        dims=statement.label)
        self.scope[statement.name] = value
        (self.labelled.discard if statement.label is None else self.labelled.add)(statement.name)

    def output(self, name):
        """The code of an output in its type and order; it is 0 beyond lengths."""
        code, value = self.code, self.scope[name]
        kind, _ = tensor_type(self.content, self.content["outputs"][name])
        order = value.dims if name in self.labelled else code.sorted(value.dims)
        lengthened = self.lengthened(order)
        if not lengthened <= value.ended:
            value = operations.chosen(code, self.inside(lengthened), value, known(0))
        if value.known is not None:
            value = code.keep(f'torch.tensor({value.code}, device="{code.device}")', (), value.type)
        if kind in operations.ENDS and kind != "i64":
            value = operations.cast_to_integer(code, value, kind)
        return code.typed(value, kind, code.aligned(value, order))

    # --- lengths ---------------------------------------------------------------------------

    def lengthened(self, dims):
        """Those of dims that have lengths."""
        return frozenset(dim for dim in dims if dim in self.of_lengths)

    def length(self, dim):
        """How long a dim is, from 0 to its extent."""
        if dim not in self.lengths:
            value = self.value(self.of_lengths[dim])
            clamped = self.code.elementwise(f"{{}}.clamp(0, {self.code.size(dim)})", [value], "i64")
            self.lengths[dim] = self.code.renamed(clamped, f"length_{dim}")
        return self.lengths[dim]

    def inside(self, dims):
        """Where indices are within the lengths of dims."""
        found = known(True)
        for dim in self.code.sorted(self.lengthened(dims)):
            one = operations.compared(self.code, "<", self.code.index(dim), self.length(dim))
            found = operations.joined(self.code, "and", found, one)
        return found

    # --- expressions -----------------------------------------------------------------------

    def value(self, node):
        """The value of a tree."""
        return getattr(self, type(node).__name__.lower())(node)

    def number(self, node):
        return known(node.value)

    def name(self, node):
        name = node.text
        if name in self.scope:
            return self.scope[name]
        if name in (self.content.get("params") or {}):
            return self.param(name)
        if name in (self.content.get("let") or {}):
            return known(self.code.extents[name])
        return self.code.index(name)

    def param(self, name):
        """What the caller passes, or else the default; both are known when the program is written."""
        text = self.content["params"][name]
        if name in self.params:
            number = self.params[name]
        else:
            number = self.value(language.expression(text.rpartition("=")[2])).known
        return known(int(number) if text.lstrip().startswith("i") else float(number))

    def read(self, node):
        return torch_reads.read(self, self.scope[node.array], node.subscripts, node.otherwise)

    def unary(self, node):
        return operations.negated(self.code, node.operator, self.value(node.operand))

    def binary(self, node):
        left, right = self.value(node.left), self.value(node.right)
        if node.operator in ("/", "**"):
            return (operations.divided if node.operator == "/" else operations.power)(self.code, left, right)
        return _TWO[node.operator](self.code, node.operator, left, right)

    def call(self, node):
        name, arguments = node.function, node.arguments
        if name in torch_reductions.REDUCTIONS:
            first = arguments[0]
            dims = first.names if isinstance(first, language.Dims) else (first.text,)
            return torch_reductions.reduction(self, name, dims, arguments[1])
        if name == "size":
            return self.size(arguments[0].text)
        if name == "cast":
            return operations.cast(self.code, self.value(arguments[0]), arguments[1].text)
        if name == "rand":
            raise NotSaid("random numbers that depend on indices alone")
        return self.function(name, [self.value(argument) for argument in arguments])

    def size(self, dim):
        return self.length(dim) if dim in self.of_lengths else known(self.code.size(dim))

    def function(self, name, values):
        code = self.code
        if name == "where":
            return operations.chosen(code, *values)
        if name in ("maximum", "minimum"):
            return operations.extreme(code, name, *values)
        if name == "clamp":
            return operations.extreme(code, "minimum",
                                      operations.extreme(code, "maximum", *values[:2]), values[2])
        if name == "xlogy":
            return operations.xlogy(code, *values)
        return operations.function(code, name, *values)

