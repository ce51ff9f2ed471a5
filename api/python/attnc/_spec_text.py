"""Specs and their text, without compiling them: what it says of tensors, and how it is written."""
import contextlib
import copy
import ctypes
import json
import os
import re

from attnc import _abi, errors

_NOT_JSON = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OF_LINES = ("inputs", "body")  # keys whose entries have a line each
_WIDTH = 100
_LABEL = re.compile(r"\s*(\w+)\s*\[\s*(\w+)\s*[,\]]")  # name[dim, ...] = ...
_TENSOR = re.compile(r"\s*(\w+)\s*(?:\[\s*(.*?)\s*\])?\s*")


def read(text):
    """A spec as a dict. Specs are JSON with the comments of C++."""
    return json.loads(_NOT_JSON.sub(lambda match: match[1] or "", text))


def whole(text, path=None):
    """The spec of a text with all that it extends, as a dict; `path` is the file that it is in."""
    library, written = _abi.library(), ctypes.c_void_p()
    encoded = text.encode()
    _abi.check(library.whole_spec(None if path is None else os.fsencode(path), encoded,
                                  len(encoded), ctypes.byref(written)))
    try:
        return json.loads(ctypes.string_at(written.value))
    finally:
        library.free_text(written)


def batch_dim(content):
    """A dim that is the first axis of tensors and otherwise only an index of them, so that what is
    computed for one of its indices does not depend on the others or on which one it is; or None."""
    own = signature(content)
    firsts = {name: dims[0] for name, (_, dims) in own.items() if dims}
    statements = [" ".join(map(str, s)) if isinstance(s, list) else str(s)
                  for s in content.get("body", [])]
    labels = {match[1]: match[2] for match in map(_LABEL.match, statements) if match}
    texts = [*statements, *content.get("require", []),
             *(str(value) for key in ("let", "dims", "params")
               for value in content.get(key, {}).values())]
    for dim in sorted(set(firsts.values())):
        if dim in content.get("dims", {}) or any(dim in dims[1:] for _, dims in own.values()):
            continue
        first = {name for name, axis in {**labels, **firsts}.items() if axis == dim}
        if all(_is_only_index(dim, text, first) for text in texts):
            return dim
    return None


def _is_only_index(dim, text, first):
    """True if a dim stands in a text only as `name[dim, ...]`, of the names whose first axis it
    is."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    return all(n > 1 and tokens[n - 1] == "[" and tokens[n - 2] in first
               and tokens[n + 1:n + 2] in (["]"], [","])
               for n, token in enumerate(tokens) if token == dim)


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
