"""What a spec's text says of its tensors, without compiling it."""
import json
import re

_NOT_JSON = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_TENSOR = re.compile(r"\s*(\w+)\s*(?:\[\s*(.*?)\s*\])?\s*")


def read(text):
    """A spec as a dict. Specs are JSON with the comments of C++."""
    return json.loads(_NOT_JSON.sub(lambda match: match[1] or "", text))


def batch_dim(content):
    """A dim that is the first axis of tensors and otherwise only an index of them, so that what is
    computed for one of its indices does not depend on the others or on which one it is; or None."""
    own = signature(content)
    firsts = {dims[0] for _, dims in own.values() if dims}
    texts = [*map(str, content.get("body", [])), *map(str, content.get("let", {}).values()),
             *content.get("require", []), *map(str, content.get("dims", {}).values())]
    for dim in sorted(firsts):
        if dim in content.get("dims", {}) or any(dim in dims[1:] for _, dims in own.values()):
            continue
        if all(_is_only_index(dim, text) for text in texts):
            return dim
    return None


def _is_only_index(dim, text):
    """True if a dim stands in a text only as `[dim, ...]` and `[..., dim, ...]`."""
    tokens, within = re.findall(r"\w+|[^\w\s]", text), []
    for n, token in enumerate(tokens):
        if token in "([{":
            within.append(token)
        elif token in ")]}" and within:
            within.pop()
        elif token == dim and (not within or within[-1] != "[" or tokens[n - 1] not in "[,"
                               or tokens[n + 1:n + 2] not in (["]"], [","])):
            return False
    return True


def signature(content):
    """The types and dims of each input by name: {"q": ("T", ("b", "h", "i", "d"))}."""
    inputs = {}
    for name, text in content.get("inputs", {}).items():
        match = _TENSOR.fullmatch(text) if isinstance(text, str) else None
        if match:
            inputs[name] = (match[1], tuple(d.strip() for d in (match[2] or "").split(",") if d))
    return inputs
