"""Reductions of specs, in PyTorch. Sums of products of two arrays are matrix products."""
import dataclasses
import math
import string

from cliff import torch_operations as operations
from cliff.language import Binary, Call, Number, Unary
from cliff.torch_code import ANY, BEYOND, HALVES, TYPES, half_of, known

REDUCTIONS = ("sum", "prod", "max", "min", "mean", "all", "any", "logsumexp", "softmax")
_NEUTRAL = {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf, "all": True, "any": False,
            "logsumexp": -math.inf, "softmax": -math.inf}
_WHOLE = {"max": -2 ** 63, "min": 2 ** 63 - 1}  # neutral of integers
_TOGETHER = {"sum": "{}.sum(dim={})", "max": "torch.amax({}, dim={})", "min": "torch.amin({}, dim={})",
             "logsumexp": "torch.logsumexp({}, dim={})"}


def reduction(writer, name, dims, operand):
    """The value of a reduction over dims of the tree `operand`."""
    if name == "sum":
        return product_sum(writer, dims, operand)
    if name == "mean":
        return operations.divided(writer.code, product_sum(writer, dims, operand), count(writer, dims))
    return reduced(writer, name, dims, writer.value(operand))


def count(writer, dims):
    """How many tuples of indices there are."""
    lengthened = writer.lengthened(dims)
    if not lengthened:
        return known(math.prod(writer.code.size(dim) for dim in dims))
    ones = operations.chosen(writer.code, writer.inside(dims), known(1), known(0))
    return reduced(writer, "sum", dims, dataclasses.replace(ones, ended=lengthened))


def reduced(writer, name, dims, value):
    """A reduction of a value; the result of softmax has the dims, too."""
    code = writer.code
    value = code.widened(cut_off(writer, name, dims, value), dims)
    kind = kind_of(name, value)
    if name == "softmax":
        return softmax(code, dims, code.converted(value, value.type if value.is_half else kind), kind)
    axes = tuple(value.dims.index(dim) for dim in dims)
    rest = [dim for dim in value.dims if dim not in dims]
    operand = code.typed(value, kind)
    if name in _TOGETHER:
        expression = _TOGETHER[name].format(operand, axes if len(axes) > 1 else axes[0])
    else:
        expression = operand + "".join(f".{name}(dim={axis})" for axis in sorted(axes, reverse=True))
    infinite = name in ("max", "min", "logsumexp") and value.infinite
    return code.keep(expression, rest, kind, [value], infinite=infinite, ended=value.ended - set(dims))


def kind_of(name, value):
    """The type in which a value is reduced, and of the result."""
    if name in ("all", "any"):
        return "bool"
    if name in ("max", "min") and value.is_half:
        return value.type
    if name in ("softmax", "logsumexp"):
        return "f64" if value.type == "f64" else "f32"
    return value.type if value.type in ("i64", "f64") else "f32"


def cut_off(writer, name, dims, value):
    """The value, neutral beyond the lengths of dims."""
    lengthened = writer.lengthened(dims)
    if not lengthened or name == "sum" and lengthened <= value.ended:
        return value
    neutral = _WHOLE.get(name) if value.type == "i64" and name in _WHOLE else _NEUTRAL[name]
    return operations.chosen(writer.code, writer.inside(dims), value, known(neutral))


def softmax(code, dims, value, kind):
    """In 32 bits at least. A row without keys, which is all -inf, is 0 and not NaN."""
    guard = ".nan_to_num(0.0)" if value.infinite else ""
    more = f", dtype={TYPES[kind]}" if value.is_half else ""
    if len(dims) == 1:
        axis = value.dims.index(dims[0])
        axis = -1 if axis == len(value.dims) - 1 else axis
        expression, order = f"torch.softmax({value.code}, dim={axis}{more})", value.dims
    else:
        order = tuple(dim for dim in value.dims if dim not in dims) + tuple(dims)
        sizes = ", ".join(str(code.size(dim)) for dim in dims)
        flat = f"{code.aligned(value, order)}.flatten({len(order) - len(dims)})"
        expression = f"torch.softmax({flat}, dim=-1{more}).unflatten(-1, ({sizes}))"
    half = None if value.half == BEYOND else value.half
    return code.keep(expression + guard, order, kind, [value], half=half, ended=value.ended | set(dims))


# --- sums of products --------------------------------------------------------------------------


@dataclasses.dataclass
class Product:
    """scale * factors / divisors."""
    scale: float = 1
    factors: list = dataclasses.field(default_factory=list)
    divisors: list = dataclasses.field(default_factory=list)


def product_sum(writer, dims, node):
    """The sum of a product over dims. What does not depend on them stands outside of the sum."""
    code, product = writer.code, Product()
    collect(writer, set(dims), node, product)
    inner = [factor for factor in product.factors if set(factor.dims) & set(dims)]
    outer = [factor for factor in product.factors if not set(factor.dims) & set(dims)]
    if not inner or not set(dims) <= {dim for factor in inner for dim in factor.dims}:
        inner, outer = [multiplied(code, product.factors or [known(1)])], []
    total = reduced(writer, "sum", dims, inner[0]) if len(inner) == 1 else contracted(writer, dims, inner)
    if product.scale != 1:
        total = operations.arithmetic(code, "*", total, known(product.scale))
    for factor in outer:
        total = operations.arithmetic(code, "*", total, factor)
    for divisor in product.divisors:
        total = operations.divided(code, total, divisor)
    return total


def collect(writer, dims, node, product):
    """Adds the factors of a tree to a product that is to be summed over dims."""
    if isinstance(node, Unary) and node.operator == "-":
        product.scale = -product.scale
        collect(writer, dims, node.operand, product)
    elif isinstance(node, Binary) and node.operator == "*":
        collect(writer, dims, node.left, product)
        collect(writer, dims, node.right, product)
    elif isinstance(node, Binary) and node.operator == "/":
        collect_quotient(writer, dims, node, product)
    elif isinstance(node, Call) and node.function == "where" and node.arguments[2] == Number(0):
        product.factors += chosen_factors(writer, dims, node)
    else:
        value = writer.value(node)
        if value.known is None:
            product.factors.append(value)
        else:
            product.scale *= value.known


def collect_quotient(writer, dims, node, product):
    divisor = writer.value(node.right)
    if divisor.known:
        product.scale /= divisor.known
        collect(writer, dims, node.left, product)
    elif not set(divisor.dims) & dims:
        product.divisors.append(divisor)
        collect(writer, dims, node.left, product)
    else:
        product.factors.append(operations.divided(writer.code, writer.value(node.left), divisor))


def chosen_factors(writer, dims, node):
    """where(c, x, 0), where c has dims that x lacks, is x times 1 or 0: a matrix of zeros and ones."""
    condition, value = (writer.value(argument) for argument in node.arguments[:2])
    if value.is_real and set(condition.dims) - set(value.dims) and set(condition.dims) & dims \
            and value.known is None:
        return [operations.chosen(writer.code, condition, known(1.0), known(0.0)), value]
    return [operations.chosen(writer.code, condition, value, known(0))]


def multiplied(code, factors):
    total = factors[0]
    for factor in factors[1:]:
        total = operations.arithmetic(code, "*", total, factor)
    return total


def contracted(writer, dims, factors):
    """The sum over dims of a product of several arrays, all of which have some of them."""
    code = writer.code
    factors = merged(code, one_cut_off(writer, dims, factors))
    if len(factors) == 1:
        return reduced(writer, "sum", dims, factors[0])
    if len(factors) == 2 and not is_matrix_product(dims, *factors):
        return reduced(writer, "sum", dims, multiplied(code, factors))
    if all(factor.type == "i64" for factor in factors):
        if not all(factor.small for factor in factors):
            return reduced(writer, "sum", dims, multiplied(code, factors))
        exact = [code.converted(factor, "f32") for factor in factors]  # below 2^24
        return code.converted(matrix_product(code, dims, exact, "f32"), "i64")
    kind = product_type(factors)
    return matrix_product(code, dims, [code.converted(factor, kind) for factor in factors], kind)


def one_cut_off(writer, dims, factors):
    """The factors, one of which is 0 beyond the lengths of dims: one that may be infinite there, or that is
    computed anyway, and the largest of these."""
    lengthened = writer.lengthened(dims)
    if lengthened <= operations.product_ended(factors):
        return factors
    def rank(place):
        factor = factors[place]
        return factor.infinite, not factor.given, size(writer.code, factor)
    last = max(range(len(factors)), key=rank)
    return [cut_off(writer, "sum", dims, factor) if place == last else factor
            for place, factor in enumerate(factors)]


def size(code, value):
    return math.prod(code.size(dim) for dim in value.dims)


def merged(code, factors):
    """Two factors at most, if all others can be multiplied into one that has their dims."""
    factors = list(factors)
    while len(factors) > 2:
        ordered = sorted(range(len(factors)), key=lambda place: size(code, factors[place]))
        pair = next(((small, large) for number, small in enumerate(ordered) for large in ordered[number + 1:]
                     if set(factors[small].dims) <= set(factors[large].dims)), None)
        if pair is None:
            break
        small, large = pair
        factors[large] = operations.arithmetic(code, "*", factors[large], factors[small])
        del factors[small]
    return factors


def is_matrix_product(dims, a, b):
    """Whether each of the two has dims of its own that stay, and both have one that is summed over."""
    a_dims, b_dims = set(a.dims), set(b.dims)
    return bool(a_dims - b_dims - set(dims) and b_dims - a_dims - set(dims) and a_dims & b_dims & set(dims))


def product_type(factors):
    """The type of the operands of a matrix product: that of 16-bit tensors, where one operand is one or
    nothing wider is in any; else f32."""
    if any(factor.type == "f64" for factor in factors):
        return "f64"
    stored = {factor.type for factor in factors if factor.is_half}
    found = half_of(factors)
    if found != BEYOND and len(stored) == 1:
        return stored.pop()
    return found if found in HALVES else "f32"


def matrix_product(code, dims, factors, kind):
    half = kind if kind in HALVES else ANY if all(factor.half == ANY for factor in factors) else None
    ended_dims = operations.product_ended(factors) - set(dims)
    expression, order = matmul(code, dims, *factors) if len(factors) == 2 else (None, None)
    if expression is None:
        expression, order = einsum(code, dims, factors)
    return code.keep(expression, order, kind, factors, half=half, ended=ended_dims)


def matmul(code, dims, a, b):
    """Of two stacks of matrices, where that is what they are; (None, None) otherwise."""
    batch = tuple(dim for dim in a.dims if dim in b.dims and dim not in dims)
    rows, columns = (tuple(dim for dim in one.dims if dim not in other.dims and dim not in dims)
                     for one, other in ((a, b), (b, a)))
    if len(dims) > 1 or len(rows) > 1 or len(columns) > 1:
        return None, None
    if code.order.index(rows[0]) > code.order.index(columns[0]):
        return matmul(code, dims, b, a)
    left = as_matrices(a, batch, rows + tuple(dims))
    right = as_matrices(b, batch, tuple(dims) + columns)
    if not left or not right:
        return None, None
    return f"torch.matmul({left}, {right})", batch + rows + columns


def as_matrices(value, batch, last):
    """The code of a value as matrices with the two last dims; None if it is not stored so."""
    if value.dims == batch + last:
        return value.code
    return f"{value.code}.transpose(-1, -2)" if value.dims == batch + last[::-1] else None


def einsum(code, dims, factors):
    every = code.sorted(dim for factor in factors for dim in factor.dims)
    free = [letter for letter in string.ascii_letters if letter not in every]
    letters = {dim: dim if len(dim) == 1 and dim in string.ascii_letters else free.pop() for dim in every}
    shared = [dim for dim in every if all(dim in factor.dims for factor in factors) and dim not in dims]
    order = shared + [dim for dim in every if dim not in shared and dim not in dims]
    operands = ",".join("".join(letters[dim] for dim in factor.dims) for factor in factors)
    result = "".join(letters[dim] for dim in order)
    arrays = ", ".join(factor.code for factor in factors)
    return f'torch.einsum("{operands}->{result}", {arrays})', tuple(order)
