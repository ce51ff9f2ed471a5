"""Lines of PyTorch and the values that they compute: arrays whose axes have the names of dims."""
import dataclasses
import keyword
import math
import numbers
import re

TYPES = {"f64": "torch.float64", "f32": "torch.float32", "f16": "torch.float16", "bf16": "torch.bfloat16",
         "i64": "torch.int64", "i32": "torch.int32", "i8": "torch.int8", "u8": "torch.uint8",
         "bool": "torch.bool"}
HALVES = ("f16", "bf16")
REALS = ("f64", "f32", *HALVES)
ANY, BEYOND = "any", "beyond"  # any 16-bit type will do; none will
RESERVED = {"torch", "inf", "nan", "program"}


class NotSaid(Exception):
    """What is not written in operations of PyTorch, and why."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A number that is known when the program is written, or an array that a variable of it holds.

    `half`: the 16-bit type of the tensors that it is computed from, ANY where these are none of real
    numbers, None where some are wider, and BEYOND where a constant is larger than f16 holds. `infinite`: a
    mask may have made elements infinite. `data`: depends on elements of tensors. `small`: integers of 8 bits.
    `ended`: the dims beyond whose length it is 0. `given`: a view of an input.
    """
    code: str
    dims: tuple = ()
    type: str = "f32"
    known: numbers.Number | None = None
    half: str | None = ANY
    infinite: bool = False
    data: bool = False
    small: bool = False
    ended: frozenset = frozenset()
    given: bool = False

    @property
    def is_real(self):
        return self.type in REALS

    @property
    def is_half(self):
        return self.type in HALVES and self.known is None


def known(number):
    """The value of a number."""
    kind = "bool" if isinstance(number, bool) else "i64" if isinstance(number, int) else "f32"
    return Value(repr(number), type=kind, known=number, infinite=kind == "f32" and math.isinf(number))


def half_of(values):
    """The 16-bit type of all that values are computed from."""
    found = {value.half for value in values if value.known is None} - {ANY}
    if BEYOND in found:
        return BEYOND
    return ANY if not found else found.pop() if len(found) == 1 else None


def wider(values):
    """The type in which numbers meet: integers, or reals of 32 or 64 bits."""
    kinds = {value.type for value in values}
    return "f64" if "f64" in kinds else "f32" if kinds & set(REALS) else "i64"


class Code:
    """The lines of a program; `order` is that of all dims."""

    def __init__(self, extents, order, device):
        self.extents, self.order, self.device = extents, list(order), device
        self.lines, self.names, self.temporary, self.indices = [], set(RESERVED), set(), {}

    def size(self, dim):
        return self.extents.size(dim)

    def variable(self, wanted):
        """A name like the wanted one that nothing else has."""
        base = wanted if wanted.isidentifier() and not keyword.iskeyword(wanted) else f"{wanted}_"
        name, number = base, 2
        while name in self.names:
            name, number = f"{base}_{number}", number + 1
        self.names.add(name)
        return name

    def keep(self, expression, dims, kind, sources=(), **more):
        """A new variable for an expression that is computed from `sources`."""
        name = self.variable(f"_{len(self.lines)}")
        self.temporary.add(name)
        self.lines.append(f"{name} = {expression}")
        more.setdefault("half", half_of(sources) if kind in REALS else ANY)
        more.setdefault("data", any(value.data for value in sources))
        return Value(name, tuple(dims), kind, **more)

    def renamed(self, value, wanted):
        """The value in a variable of that name, if the last line computes it."""
        if value.code not in self.temporary or not self.lines[-1].startswith(f"{value.code} = "):
            return value
        name = self.variable(wanted)
        self.lines[-1] = name + self.lines[-1].removeprefix(value.code)
        return dataclasses.replace(value, code=name)

    def index(self, dim):
        """The index along a dim, an array that `text` has where it is used."""
        if dim not in self.indices:
            self.indices[dim] = Value(self.variable(dim), (dim,), "i64")
        return self.indices[dim]

    def text(self, result):
        """All lines up to the one that returns the code `result`."""
        lines = [*self.lines, f"return {result}"]
        used = {word for line in lines for word in re.findall(r"\w+", line)}
        indices = [f'{value.code} = torch.arange({self.size(dim)}, device="{self.device}")'
                   for dim, value in self.indices.items() if value.code in used]
        return "".join(f"    {line}\n" for line in indices + lines)

    def sorted(self, dims):
        return tuple(sorted(set(dims), key=self.order.index))

    def union(self, values):
        """All dims of values, in the order of one that has them all, or that of all dims."""
        dims = {dim for value in values for dim in value.dims}
        return next((value.dims for value in values if len(value.dims) == len(dims)), self.sorted(dims))

    def typed(self, value, kind, code=None):
        """The code of a value, or that of a view of it, in a type."""
        if value.known is not None:
            number = value.known
            return repr(float(number)) if kind in REALS and not isinstance(number, bool) else repr(number)
        code = code or value.code
        return code if value.type == kind else f"{code}.to({TYPES[kind]})"

    def aligned(self, value, dims):
        """The code of a view whose axes are `dims`, as far as broadcasting needs them."""
        present = [dim for dim in dims if dim in value.dims]
        code = value.code
        if tuple(present) != value.dims:
            code += f".permute({', '.join(str(value.dims.index(dim)) for dim in present)})"
        axes = [":" if dim in value.dims else "None" for dim in dims]
        while axes and axes[0] == "None":
            axes.pop(0)
        return f"{code}[{', '.join(axes)}]" if "None" in axes else code

    def elementwise(self, template, values, kind, operands=None, **more):
        """A template with the codes of values, which meet in the type `operands`."""
        dims = self.union(values)
        codes = [self.typed(value, value.type if value.type == "bool" else operands or value.type,
                            self.aligned(value, dims)) for value in values]
        return self.keep(template.format(*codes), dims, kind, values, **more)

    def converted(self, value, kind):
        """The value in another type."""
        return dataclasses.replace(value, code=self.typed(value, kind), type=kind)

    def widened(self, value, dims):
        """The value with all of `dims`."""
        missing = [dim for dim in dims if dim not in value.dims]
        if not missing:
            return value
        every = self.union([value, Value("", tuple(dims))])
        sizes = ", ".join(str(self.size(dim)) for dim in every)
        if value.known is not None:
            return self.keep(f'torch.full(({sizes},), {value.code}, dtype={TYPES[value.type]}, '
                             f'device="{self.device}")', every, value.type, infinite=value.infinite)
        view = self.aligned(value, every) if value.dims else value.code
        return dataclasses.replace(value, code=f"{view}.expand({sizes})", dims=every)
