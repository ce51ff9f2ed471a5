"""The statements of specs as trees (docs/spec.md has the grammar)."""
import collections
import math
import re

Number = collections.namedtuple("Number", "value")
Name = collections.namedtuple("Name", "text")
Dims = collections.namedtuple("Dims", "names")  # a tuple of dims, as reductions take
Call = collections.namedtuple("Call", "function arguments")
Read = collections.namedtuple("Read", "array subscripts otherwise")
Unary = collections.namedtuple("Unary", "operator operand")
Binary = collections.namedtuple("Binary", "operator left right")
Statement = collections.namedtuple("Statement", "name label value")  # the label is None where there is none
Repeat = collections.namedtuple("Repeat", "count carry body")  # the count is a tree, too

_TOKEN = re.compile(r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
                    r"|(?P<operator>\*\*|//|<=|>=|==|!=|[-+*/%<>()\[\],=]))")
_LEVELS = [("or",), ("and",), ("not",), ("<", "<=", ">", ">=", "==", "!="), ("+", "-"), ("*", "/", "//", "%")]
_NOT = 2  # the level that takes an operator before its operand
_CONSTANTS = {"inf": math.inf, "pi": math.pi}


class _Parser:
    """Goes through the tokens of one text; each method takes what it is named after."""

    def __init__(self, text):
        self.tokens, self.at = [], 0
        place, text = 0, text.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if not found:
                raise ValueError(f"neither a number nor a name: {text[place:]}")
            self.tokens.append(found[found.lastgroup])
            place = found.end()

    def next(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, *wanted):
        """The next token if it is one of these."""
        if self.next() not in wanted:
            return None
        self.at += 1
        return self.tokens[self.at - 1]

    def need(self, wanted):
        if not self.take(wanted):
            raise ValueError(f"{wanted} is missing before {self.next()}")

    def list(self, one, end):
        """What `one` takes, divided by commas, up to a closing bracket."""
        found = []
        while not self.take(end):
            found.append(one())
            if self.next() != end:
                self.need(",")
        return tuple(found)

    def expression(self, level=0):
        if level == len(_LEVELS):
            return self.unary()
        if level == _NOT:
            return Unary("not", self.expression(level)) if self.take("not") else self.expression(level + 1)
        left = self.expression(level + 1)
        while operator := self.take(*_LEVELS[level]):
            left = Binary(operator, left, self.expression(level + 1))
        return left

    def unary(self):
        if sign := self.take("-", "+"):
            return Unary("-", self.unary()) if sign == "-" else self.unary()
        base = self.primary()
        return Binary("**", base, self.unary()) if self.take("**") else base

    def primary(self):
        if self.take("("):
            inside = self.list(self.expression, ")")
            return inside[0] if len(inside) == 1 else Dims(tuple(name.text for name in inside))
        word = self.next()
        self.at += 1
        if word[0].isdigit() or word[0] == ".":
            return Number(int(word) if word.isdigit() else float(word))
        if word in _CONSTANTS:
            return Number(_CONSTANTS[word])
        if self.take("("):
            return Call(word, self.list(self.expression, ")"))
        if self.take("["):
            subscripts = self.list(self.expression, "]")
            return Read(word, subscripts, self.unary() if self.take("else") else None)
        return Name(word)

    def statement(self):
        name, label = self.primary(), None
        if isinstance(name, Read):
            name, label = Name(name.array), tuple(dim.text for dim in name.subscripts)
        self.need("=")
        return Statement(name.text, label, self.expression())


def _whole(parser, found):
    if parser.next() is not None:
        raise ValueError(f"{parser.next()} is too much")
    return found


def expression(text):
    """The tree of an expression."""
    parser = _Parser(str(text))
    return _whole(parser, parser.expression())


def body(statements):
    """The trees of a spec's statements, those of repeats within them."""
    found = []
    for statement in statements:
        if isinstance(statement, dict):
            found.append(Repeat(expression(statement["repeat"]), tuple(statement["carry"]),
                                body(statement["body"])))
        else:
            text = statement if isinstance(statement, str) else " ".join(statement)
            parser = _Parser(text)
            found.append(_whole(parser, parser.statement()))
    return found
