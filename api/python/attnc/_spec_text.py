"""Specs and their text, without compiling them: what it says of tensors, and how it is written."""
import contextlib
import copy
import json
import re

from attnc import errors

_NOT_JSON = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OF_LINES = ("inputs", "body")  # keys whose entries have a line each
_WIDTH = 100
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


class Spec(dict):
    """A spec, as JSON has it, that knows where in Python it is from: `places` are (file, line) by
    the text of a statement, or by a name."""

    def __init__(self, content, places):
        super().__init__(content)
        self._places = places

    def to_dict(self):
        """A plain dict, as json.load would give it."""
        return copy.deepcopy(dict(self))

    def to_json(self):
        """The text of the spec."""
        return write(self)

    __str__ = to_json

    @contextlib.contextmanager
    def located(self, title):
        """Errors of the text, which is called `title` in them, get the places in Python."""
        try:
            yield
        except errors.SpecError as error:
            message = re.sub(rf"{re.escape(title)}:(\d+):\d+:", self._place, error.message)
            raise errors.SpecError(message, error.remedy) from None

    def _place(self, match):
        line = self.to_json().splitlines()[int(match[1]) - 1]
        for quoted in _STRING.findall(line):
            if place := self._places.get(json.loads(quoted)):
                return "{}:{}:".format(*place)
        return match[0]


def write(content):
    """The text of a spec that is given as a dict, as a person would write it."""
    return _lines(content, 0)


def _lines(value, indent):
    """JSON in one line if it fits there, otherwise with a line for each entry."""
    one = _one_line(value)
    if one and indent + len(one) < _WIDTH or not isinstance(value, (dict, list, tuple)):
        return one
    return _broken(value, indent)


def _broken(value, indent):
    blanks = " " * (indent + 2)
    if isinstance(value, dict):
        entries = (f"{_quoted(name)}: " + (_broken if name in _OF_LINES and entry else _lines)(
            entry, indent + 2) for name, entry in value.items())
    else:
        entries = (_lines(entry, indent + 2) for entry in value)
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    return f"{opened}\n{blanks}" + f",\n{blanks}".join(entries) + f"\n{' ' * indent}{closed}"


def _one_line(value):
    """JSON in one line, or nothing if it has entries with lines of their own."""
    if isinstance(value, dict) and value:
        entries = [(name, _one_line(entry)) for name, entry in value.items()]
        if any(name in _OF_LINES or not entry for name, entry in entries):
            return ""
        return "{ " + ", ".join(f"{_quoted(name)}: {entry}" for name, entry in entries) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_one_line, value)) + "]"
    return _quoted(value)


def _quoted(value):
    return json.dumps(value, ensure_ascii=False)
