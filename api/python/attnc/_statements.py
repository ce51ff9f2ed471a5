"""The statements that the function of a spec makes: their order, their names and their text."""
import contextlib
import contextvars
import functools
import inspect
import numbers

from attnc import _assignments
from attnc._expressions import (Carried, Expression, Labelled, Let, Name, Number, Speller,
                                check_depth, checked_name, error, expression, walk)

_block = contextvars.ContextVar("attnc_block", default=None)


class Statement:
    """`name[label] = value`. From there on, the expression `value` stands for the result."""

    def __init__(self, name, value, block):
        self.name, self.value, self.block, self.place = name, value, block, value.place
        self.label = getattr(value, "label", None)
        self.fixed = False  # True if no other name will do

    def says_nothing(self, known, names, name):
        """True for `x = x`: what a repeat starts with may have its name already."""
        named = self.value.value if isinstance(self.value, Labelled) else None
        if isinstance(named, Carried):
            return named.name == name and not differ(named.label, self.label)
        return names.get(id(named)) == name and not differ(known[id(named)].label, self.label)

    def text(self, names, name):
        check_depth(self.value, names)
        spell = Speller(names)
        label = "" if self.label is None else f"[{','.join(dim.name for dim in self.label)}]"
        text = spell(self.value.value) if isinstance(self.value, Labelled) \
            else self.value.text(spell)[0]
        return f"{name}{label} = {text}"


class Repeat:
    """The statements of `block`, `count` times. `first` is what it carries into the first time,
    `last` what each hands to the next: statements, or what another repeat carries."""

    def __init__(self, count, carry, block, first, last):
        self.count, self.carry, self.block, self.first, self.last = count, carry, block, first, last


class Block:
    """Statements and repeats in their order: those of a spec, or those of a repeat in another
    block. `known` are the statements by the id of what they define, in all blocks of a spec."""

    def __init__(self, outer=None):
        self.outer, self.items = outer, []
        self.known = {} if outer is None else outer.known

    @contextlib.contextmanager
    def open(self):
        token = _block.set(self)
        try:
            yield self
        finally:
            _block.reset(token)

    def depth(self):
        return 0 if self.outer is None else 1 + self.outer.depth()

    def is_within(self, other):
        return self is other or self.outer is not None and self.outer.is_within(other)

    def add(self, name, value):
        statement = Statement(name, value, self)
        self.items.append(statement)
        self.known[id(value)] = statement
        return statement

    def is_anonymous(self, value):
        """True if a statement can define the value: it is made by an operation, and has no name."""
        return not isinstance(value, (Name, Number, Carried)) and id(value) not in self.known

    def label_of(self, value):
        return getattr(self.known.get(id(value), value), "label", None)

    def assign(self, name, value, label):
        """A statement under just this name, with just this label or none; returns it, or what a
        repeat has left, if that is it."""
        if isinstance(value, Carried) and (value.name, value.block) == (name, self) \
                and not differ(value.label, label):
            return value
        statement = self.known.get(id(value))
        if not (statement and statement.name == name and statement.block is self):
            copies = not self.is_anonymous(value) or differ(getattr(value, "label", label), label)
            statement = self.add(name, Labelled(value, label, value.place) if copies else value)
        elif statement.label is not None and differ(statement.label, label):
            statement = self.add(name, Labelled(value, label, value.place))
        statement.label, statement.fixed = label, True
        return statement

    def take_over(self, name, value):
        """A statement for what a repeat starts with, apart from the value: the repeat assigns to
        its name again, and the value may be used behind it."""
        label = self.label_of(value)
        if self.is_anonymous(value) and isinstance(value, Labelled):
            value = value.value
        statement = self.add(name, Labelled(value, label, value.place))
        statement.fixed = True
        return statement


def differ(label, other):
    return [dim.name for dim in label or ()] != [dim.name for dim in other or ()]


def current():
    """The block that is being written, or none."""
    return _block.get()


def part(function):
    """A decorator for functions that the function of a spec calls: what they assign are statements
    too, under the names of their variables."""
    return functools.wraps(function)(_assignments.observed(function, assigned))


def named(name, value):
    """Makes a statement of an expression, under a name, as an assignment does in the function of
    a spec: s = named("s", ...). It is for names that a program chooses, and for where Python has
    no source of a function."""
    block, value, name = current(), expression(value), checked_name(name)
    if block is None:
        raise error(f"there is no spec for the statement '{name}'",
                    "named is for the function of a spec, and for functions that it calls")
    if not block.is_anonymous(value):
        raise error(f"{value!r} has a name already", "only what has none can be given one")
    block.add(name, value)
    return value


def assigned(name, value):
    """What an assignment in the function of a spec does to a value."""
    block = current()
    if block is not None and isinstance(value, Expression) and block.is_anonymous(value):
        block.add(checked_name(name), value)
    return value


def repeat(count, step, *initial):
    """Statements that run `count` times, a number or a let. `step` is a function of the values
    that an iteration takes over, which returns those for the next one; its parameters are their
    names. Returns what the last one leaves, with `initial` before the first."""
    outer = current()
    if outer is None:
        raise error("there is no spec for the repeat", "repeat is for the function of a spec")
    names = [checked_name(name) for name in inspect.signature(step).parameters]
    if len(names) != len(initial):
        raise error(f"the repeat carries {len(initial)} values, its function takes {len(names)}",
                    "repeat(6, step, z) calls step(z)")
    before = [outer.take_over(name, expression(value)) for name, value in zip(names, initial)]
    block = Block(outer)
    carry = [Carried(name, first.label, block) for name, first in zip(names, before)]
    with block.open():
        results = _assignments.observed(step, assigned)(*carry)
        results = results if isinstance(results, tuple) else (results,)
        if len(results) != len(names):
            raise error(f"the function of the repeat returns {len(results)} values",
                        f"it returns those of the next iteration: {', '.join(names)}")
        last = _hand_on(block, carry, [expression(result) for result in results])
    outer.items.append(Repeat(_count(count), names, block, before, last))
    behind = tuple(Carried(c.name, c.label, outer) for c in carry)
    return behind if len(behind) > 1 else behind[0]


def _count(count):
    if isinstance(count, Let):
        return count
    if isinstance(count, bool) or not isinstance(count, numbers.Integral):
        raise error(f"{count!r} is no number of iterations", 'give an integer, or a let: '
                    'let("n", 6)')
    return int(count)


def _hand_on(block, carry, results):
    """Assigns the results of an iteration, and returns the statements. What needs a value that is
    assigned before it is computed before."""
    for n, result in enumerate(results):
        parts = walk(result, stop=lambda node: id(node) in block.known)
        earlier = {id(c) for c in carry[:n]}
        if any(id(part) in earlier for part in parts):
            results[n] = Labelled(result, None) if isinstance(result, Carried) else result
            block.add(None, results[n])
    return [block.assign(c.name, result, c.label) for c, result in zip(carry, results)]
