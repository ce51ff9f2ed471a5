"""At which extents a spec is timed: those of real use, each dim by what it is.

Sequences are as long as memory and time allow, batches and heads as in the other benchmarks; a dim that
the spec makes static stays, and others have the extent of the spec's reference shape.
"""
import math
import re

LENGTHS = (4096, 2048, 1024, 512, 256)
LONE = 4  # so many times as long where nothing but the sequence fills a GPU: no batch, no heads
BY_NAME = {"b": 4, "h": 16, "hk": 4}
SEQUENCES = ("i", "j", "p")
PACKED = 4  # sequences behind one another
BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i8": 1, "u8": 1, "bool": 1}
MOST_BYTES = 8 << 30   # of inputs and outputs
MOST_BETWEEN = 24 << 30  # of values between kernels
MOST_MS = 20  # of the roofline

# Where the names of dims do not say what they are, or real sizes are others.
SIZES = {
    "block_table": {"x": 64, "y": 64},
    "chosen_landmarks": {"m": 64},
    "evoformer": {"b": 1, "n": 128, "h": 8, "i": 384, "j": 384},
    "gathered_result": {"m": 64},
    "gathered_rows": {"n": 4096},
    "gathered_weights": {"r": 64},
    "grid_keys": {"y": 64, "x": 64},
    "inverse": {"b": 4096},
    "ipa": {"b": 1, "h": 12, "i": 512, "j": 512},
    "ipa_frames": {"b": 1, "h": 12, "i": 512, "j": 512},
    "latent_decode": {"i": 1},
    "neighbours": {"n": 4096},
    "paged": {"b": 32, "i": 1, "n": 8192, "w": 256},
    "pair_grid": {"i": 256, "y": 64, "x": 64},
    "picked_queries": {"m": 1024},
    "power_iteration": {"b": 4096},
    "projected_both": {"c": 1024},
    "small_matrices": {"b": 256},
}


class Unsized(ValueError):
    """No extents were found for a spec."""


def tensor_type(content, text):
    """("bf16", ("b", "h", "i", "d")) of "T[b, h, i, d]"."""
    name, dims = re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", text).groups()
    return (content.get("types", {}).get(name, name),
            tuple(dim.strip() for dim in (dims or "").split(",") if dim.strip()))


def ragged_dims(content):
    """The packed dims of a spec: name -> (input of offsets, the dim of sequences)."""
    return {dim: (given["ragged"], given["over"])
            for dim, given in (content.get("dims") or {}).items()
            if isinstance(given, dict) and "ragged" in given}


class Extents:
    """Extents of all dims of a spec, those that it computes among them. Of a packed dim it is that of one
    sequence; the rows of all are the dim NAME_rows."""

    def __init__(self, content, given):
        self.content, self.given = content, dict(given)

    def __getitem__(self, name):
        """As the names of an expression: a let, a function, or a dim as what `size` takes."""
        lets = self.content.get("let") or {}
        if name in lets:
            return self.evaluate(lets[name])
        return {"size": self.size, "maximum": max, "minimum": min}.get(name, name)

    def evaluate(self, expression):
        """Integers and conditions of sizes are written as in Python."""
        if isinstance(expression, int):
            return expression
        return eval(expression, {"__builtins__": {}}, self)

    def size(self, dim):
        if dim in self.given:
            return self.given[dim]
        ragged = ragged_dims(self.content)
        if dim in ragged:
            return self.given[dim + "_rows"] // self.size(ragged[dim][1])
        stated = (self.content.get("dims") or {}).get(dim)
        if stated is None or isinstance(stated, dict):
            raise Unsized(f"the dim '{dim}' has no extent")
        return self.evaluate(stated)

    def count(self, dims):
        return math.prod(self.size(dim) for dim in dims)


def dynamic_dims(content):
    """The dims whose extents a caller chooses, in the order of the inputs."""
    stated = content.get("dims") or {}
    ragged = ragged_dims(content)
    found = {}
    for text in content["inputs"].values():
        for dim in tensor_type(content, text)[1]:
            if dim in ragged:
                found[dim + "_rows"] = None
            elif dim not in stated or isinstance(stated[dim], dict):
                found[dim] = None
    for dim, given in stated.items():
        if isinstance(given, dict) and "ragged" not in given:
            found[dim] = None
    return list(found)


def bindable(content, name):
    """The spec with an extent for each dim that it leaves to the caller (`null`): tensors do not carry
    these, so a call through the interfaces of languages cannot say them."""
    dims = dict(content.get("dims") or {})
    reference = (content.get("reference") or {}).get("shape", {})
    for dim in [dim for dim, given in dims.items() if given is None]:
        equals = [one if other == dim else other
                  for one, other in equal_sizes(content) if dim in (one, other)]
        dims[dim] = f"size({equals[0]})" if equals else SIZES.get(name, {}).get(dim, reference.get(dim))
    return {**content, "dims": dims}


def equal_sizes(content):
    """Pairs of dims that a spec requires to be equal."""
    return [found.groups() for text in content.get("require") or ()
            if (found := re.fullmatch(r"size\((\w+)\) == size\((\w+)\)", text.strip()))]


def shape_of(content, name, length):
    """The extents of the dynamic dims at one length of sequences."""
    offsets = {cu: tensor_type(content, content["inputs"][cu])[1][0]
               for cu, _ in ragged_dims(content).values()}
    known = SIZES.get(name, {})
    reference = (content.get("reference") or {}).get("shape", {})
    dims = dynamic_dims(content)
    if not set(BY_NAME) & set(dims):
        length *= LONE
    shape = {}
    for dim in dims:
        if dim in known:
            shape[dim] = known[dim]
        elif dim in offsets.values():
            shape[dim] = PACKED + 1
        elif dim.removesuffix("_rows") in SEQUENCES:
            shape[dim] = length * (PACKED if dim.endswith("_rows") else 1)
        elif dim in BY_NAME or dim in reference:
            shape[dim] = BY_NAME.get(dim) or reference[dim]
    for one, other in equal_sizes(content):
        if one in dims and one not in shape or other in dims and other not in shape:
            shape[one] = shape[other] = shape.get(one) or shape.get(other)
    if missing := [dim for dim in dims if not shape.get(dim)]:
        raise Unsized(f"nothing says how large {', '.join(missing)} should be")
    extents = Extents(content, shape)
    for text in content.get("require") or ():
        if not extents.evaluate(text):
            raise Unsized(f"{shape} does not fulfil {text}")
    return shape


def tensor_bytes(content, shape, tensors):
    """Of all tensors of a program: pairs of a type and dims."""
    extents = Extents(content, shape)
    return sum(BYTES[dtype] * extents.count(dims) for dtype, dims in tensors)


def shapes_of(content, name, tensors):
    """The shapes to try, the longest sequences first, as far as the tensors fit."""
    tried = []
    for length in LENGTHS:
        shape = shape_of(content, name, length)
        if shape not in tried and tensor_bytes(content, shape, tensors) <= MOST_BYTES:
            tried.append(shape)
    if not tried:
        raise Unsized("inputs and outputs fit at no length")
    return tried
