"""The order and the names in which the statements of a spec are written."""
import collections
import itertools
import math

from attnc._expressions import (FUNCTIONS, REDUCTIONS, Call, Carried, Labelled, Operation, error,
                                walk)
from attnc._statements import Repeat, Statement


def written(block, outputs, taken):
    """The body of the spec as JSON has it, and the place of each statement by its text. `outputs`
    are statements, or what a repeat has carried. Results without a name get one that is not
    `taken`."""
    _add_shared(block)
    _Order(block.known).arrange(block)
    names = _Names(block, outputs, taken)
    places = {}
    return _text(block, names, places), places


def expressions(block):
    """What the statements of a block define, and the lets that count its repeats."""
    for item in block.items:
        if isinstance(item, Repeat):
            yield from expressions(item.block)
            if not isinstance(item.count, int):
                yield item.count
        else:
            yield item.value


def _text(block, names, places):
    lines = []
    for item in block.items:
        if isinstance(item, Repeat):
            count = item.count if isinstance(item.count, int) else item.count.name
            lines.append({"repeat": count, "carry": item.carry,
                          "body": _text(item.block, names, places)})
        elif not item.says_nothing(block.known, names.of_values, names.of(item)):
            lines.append(item.text(names.of_values, names.of(item)))
            places.setdefault(lines[-1], item.place)
    return lines


def _statements(block):
    for item in block.items:
        if isinstance(item, Repeat):
            yield from _statements(item.block)
        else:
            yield item


def _references(statement, known):
    """What a statement names: expressions that statements define, and what repeats carry."""
    for operand in statement.value.operands:
        for part in walk(operand, stop=lambda node: id(node) in known):
            if id(part) in known or isinstance(part, Carried):
                yield part


# --- parts that are statements of their own ------------------------------------------------------

def _add_shared(block):
    """Statements for what has a label and no name, and for what is used more than once, so that it
    is written once."""
    uses, parts = collections.Counter(), {}
    for statement in _statements(block):
        for operand in statement.value.operands:
            uses[id(operand)] += 1
            for part in walk(operand, stop=lambda node: id(node) in block.known
                             or id(node) in parts):
                if id(part) not in parts and id(part) not in block.known:
                    parts[id(part)] = part
                    uses.update(map(id, part.operands))
    for part in parts.values():
        if isinstance(part, Labelled) or uses[id(part)] > 1 and _is_worth_a_name(part):
            statement = Statement(None, part, block)
            statement.block = max((_home(reference, block.known) for reference
                                   in _references(statement, block.known)),
                                  key=lambda home: home.depth(), default=block)
            block.known[id(part)] = statement


def _is_worth_a_name(part):
    """True for what would be long if it was written again: a reduction, or several operations."""
    return _computes(part) and (getattr(part, "function", "") in REDUCTIONS
                                or any(map(_computes, part.operands)))


def _computes(part):
    return isinstance(part, Operation) or isinstance(part, Call) and part.function != "size"


def _home(reference, known):
    """The block in which a name has its value."""
    return reference.block if isinstance(reference, Carried) else known[id(reference)].block


# --- the order -----------------------------------------------------------------------------------

class _Order:
    """Puts each statement before those that name it."""

    def __init__(self, known):
        self.known, self.placed, self.looked = known, set(), set()

    def arrange(self, block):
        items, block.items = block.items, []
        for item in items:
            self._place(item, block)

    def _place(self, item, block):
        if isinstance(item, Repeat):
            for statement in _statements(item.block):
                self._place_named(statement, block)
            block.items.append(item)
            self.arrange(item.block)
        elif item not in self.placed:
            self.placed.add(item)
            self._place_named(item, block)
            block.items.append(item)

    def _place_named(self, statement, block):
        """Places what a statement of this block, or of a repeat in it, names."""
        if (statement, block) in self.looked:
            return
        self.looked.add((statement, block))
        for reference in _references(statement, self.known):
            home = _home(reference, self.known)
            if not statement.block.is_within(home):
                raise error(f"{_said(reference, self.known)} has a value only inside its repeat",
                            "a repeat returns what it carries", statement.place)
            if isinstance(reference, Carried):
                continue
            named = self.known[id(reference)]
            if home is block:
                self._place(named, block)
            elif home.is_within(block):
                self._place_named(named, block)


def _said(reference, known):
    name = reference.name if isinstance(reference, Carried) else known[id(reference)].name
    return f"'{name}'" if name else repr(reference)


def _kind(value):
    value = value.value if isinstance(value, Labelled) else value
    return value.function if isinstance(value, Call) else "value"


# --- the names -----------------------------------------------------------------------------------

class _Span:
    """From where to where a name has to keep a value."""

    def __init__(self, name, fixed, start, place):
        self.name, self.fixed, self.start, self.end = name, fixed, start, start
        self.place = place


class _Names:
    """Names for all statements. They are those of Python's variables, unless a variable has been
    assigned again and its former value is used behind that: then the former result has another
    name."""

    def __init__(self, block, outputs, taken):
        self.known, self.spans, self.ends = block.known, {}, {}
        self.taken = {*taken, *FUNCTIONS, *REDUCTIONS}
        self.taken.update(s.name for s in _statements(block))
        self.clock = itertools.count()
        self._start(block)
        for statement in _statements(block):
            for reference in _references(statement, self.known):
                self._use(reference, statement)
        for output in outputs:
            self._lasts(output, math.inf)
        self._separate()
        self.of_values = {id(s.value): self.of(s) for s in _statements(block)}

    def of(self, statement):
        return self.spans[statement].name

    def _start(self, block):
        """Starts the spans of a block's statements, and of what its repeats carry."""
        for item in block.items:
            now = next(self.clock)
            if isinstance(item, Repeat):
                for first in item.first:
                    self._lasts(first, now)
                self._start(item.block)
                end = self.ends[item.block] = next(self.clock)
                for last in item.last:
                    self._lasts(last, end)
            else:
                name = item.name or self._fresh(_kind(item.value))
                self.spans[item] = _Span(name, item.fixed, now, item.place)

    def _lasts(self, value, end):
        """A statement, or what a repeat carries, whose value has to last. What a repeat carries
        gets its value before it is first used, and it is written by statements alone."""
        if value not in self.spans:
            self.spans[value] = _Span(value.name, True, end, value.place)
        self.spans[value].end = max(self.spans[value].end, end)

    def _use(self, reference, statement):
        """A use in a repeat of what is defined outside of it lasts to the repeat's end."""
        end, block = self.spans[statement].start, statement.block
        home = _home(reference, self.known)
        while block is not home:
            end, block = self.ends[block], block.outer
        self._lasts(self.known.get(id(reference), reference), end)

    def _separate(self):
        same = collections.defaultdict(list)
        for span in self.spans.values():
            same[span.name].append(span)
        for name, spans in same.items():
            for former, later in itertools.permutations(spans, 2):
                if former.name == later.name and former.start < later.start < former.end:
                    self._rename(former, later)

    def _rename(self, former, later):
        if former.fixed and later.fixed:
            raise error(f"the former value of '{former.name}' is used after it has got another one",
                        "give one of the two another name", later.place)
        span = later if former.fixed else former
        span.name = self._fresh(span.name)

    def _fresh(self, name):
        fresh = next(candidate for n in itertools.count(1)
                     if (candidate := f"{name}_{n}") not in self.taken)
        self.taken.add(fresh)
        return fresh
