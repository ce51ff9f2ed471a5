"""Tensors for the inputs of a spec: real numbers are normal, and integers what the spec
takes them for: lengths are full, offsets divide the rows evenly, subscripts are inside."""
import re

from cliff import specs
from cliff.shapes import Extents, ragged_dims, tensor_type

DOCUMENTS = 4  # in a sequence, one behind the other
NUMBERS = 4    # of which integers are drawn that are none of these
# By the name of the input, for what only the mathematics says.
BELOW = {"topk": 64}                # drawn of so many
FEW = {"g": 1 / 64}                 # so many are true, or 1
FULL = {"length", "len", "prefix"}  # as long as the sequences, or half of it for each query


def arguments(text, name):
    """The subscripts of each read of `name` in a statement: lists of texts."""
    for found in re.finditer(rf"\b{re.escape(name)}\[", text):
        depth, parts = 0, [""]
        for letter in text[found.end():]:
            if depth == 0 and letter == "]":
                break
            depth += (letter in "[(") - (letter in ")]")
            if depth == 0 and letter == ",":
                parts.append("")
            else:
                parts[-1] += letter
        yield parts


def dims_by_name(content):
    """The dims of whatever can be read with subscripts: inputs and labelled results."""
    known = {name: tensor_type(content, text)[1] for name, text in content["inputs"].items()}
    for text in specs.statements(content):
        if label := re.match(r"(\w+)\[([^\]]*)\] = ", text):
            known[label[1]] = tuple(dim.strip() for dim in label[2].split(","))
    return known


def selected_dim(content, name):
    """The dim along which an input's values select, or None."""
    known = dims_by_name(content)
    for text in specs.statements(content):
        right = text.split(" = ", 1)[-1]
        for tensor, dims in known.items():
            for parts in arguments(right, tensor):
                for dim, part in zip(dims, parts):
                    if tensor != name and re.search(rf"\b{re.escape(name)}\b", part):
                        return dim
    return None


def lengthened_dim(content, name):
    """The dim whose lengths an input holds, or None."""
    for dim, given in (content.get("dims") or {}).items():
        if isinstance(given, dict) and re.search(rf"\b{re.escape(name)}\b", str(given.get("extent"))):
            return dim
    return None


def integers(torch, content, name, dims, extents, device):
    """int64 values of an integer input."""
    shape = [extents.size(dim) for dim in dims]

    def below(bound):
        return torch.randint(max(1, bound), shape, device=device)
    for dim, (offsets, _) in ragged_dims(content).items():
        if name == offsets:
            rows = extents.size(dim + "_rows")
            return torch.arange(shape[0], device=device) * rows // (shape[0] - 1)
    if dim := lengthened_dim(content, name):
        return torch.full(shape, extents.size(dim) + 1, device=device)
    if dim := selected_dim(content, name):
        return below(extents.size(dim))
    if name in BELOW:
        return below(BELOW[name])
    if name in FEW:
        return (torch.rand(shape, device=device) < FEW[name]).long()
    if name in FULL:
        share = 2 if dims[-1:] == ["i"] else 1
        return torch.full(shape, extents.size("j") // share, device=device)
    if dims and dims[-1] in ("i", "j"):
        ids = torch.arange(shape[-1], device=device) * DOCUMENTS // shape[-1]
        return ids.expand(shape).contiguous()
    return below(NUMBERS)


def make(torch, content, shape, device="cuda"):
    """The inputs by name."""
    torch.manual_seed(1)
    extents, made = Extents(content, shape), {}
    ragged = ragged_dims(content)
    for name, text in content["inputs"].items():
        kind, dims = tensor_type(content, text)
        dims = [dim + "_rows" if dim in ragged else dim for dim in dims]
        sizes = [extents.size(dim) for dim in dims]
        dtype = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
                 "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32, "i8": torch.int8,
                 "u8": torch.uint8, "bool": torch.bool}[kind]
        if dtype.is_floating_point:
            made[name] = torch.randn(sizes, device=device, dtype=dtype)
        elif kind == "bool":
            made[name] = torch.rand(sizes, device=device) < FEW.get(name, 1 / 2)
        else:
            made[name] = integers(torch, content, name, dims, extents, device).to(dtype)
    return made


def params_of(content):
    """Values for the params that have no default."""
    return {name: 1 if text.lstrip().startswith("i") else 0.5
            for name, text in (content.get("params") or {}).items() if "=" not in
            re.sub(r"[<>]=", "", text)}
