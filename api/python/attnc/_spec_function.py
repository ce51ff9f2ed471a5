"""From a function of Python to a spec."""
import inspect

from attnc import _assignments
from attnc._declarations import ElementType, Scalar, Tensor
from attnc._expressions import (Call, Declared, Dim, Input, Labelled, Let, Param,
                                check_sizes_only, checked_name, error, expression, spelled, walk)
from attnc._spec_text import Spec
from attnc._statement_order import expressions, written
from attnc._statements import Block, assigned


def spec(function=None, *, name=None, require=(), grad=None, save=None, schedule=None,
         reference=None):
    """A decorator: the spec that a function computes.

    Parameters of the function are the inputs and params of the spec: q: T[b, h, i, d] is a tensor,
    scale: f32 > 0 = 1 / sqrt(size(d)) a scalar with a bound and a default. Its return annotation
    declares the outputs, dict(o=T[b, h, i, e]), with types and the order of dims; it returns their
    values, a tuple if there are several, or a dict. Its docstring is `doc`.

    The others are keys of the language: `require` is a list of conditions, `grad` a list of names
    or "all", `reference` a shape, as dict(i=129, j=200). Raises SpecError, with the place in
    Python.
    """
    keys = {"name": name, "require": require, "grad": grad, "save": save, "schedule": schedule,
            "reference": reference}
    if function is not None:
        return _Function(function, keys).spec()
    return lambda function: _Function(function, keys).spec()


class _Function:
    """What a function declares, and what it does when it is called with that."""

    def __init__(self, function, keys):
        self.function, self.keys = function, keys
        self.place = function.__code__.co_filename, function.__code__.co_firstlineno
        self.parameters = inspect.signature(function).parameters
        self.inputs, self.params, self.symbols, self.mentions = {}, {}, {}, []
        for parameter in self.parameters.values():
            self._declare(parameter)
        self.outputs = self._declared_outputs()

    def spec(self):
        block = Block()
        with block.open():
            results = _assignments.observed(self.function, assigned)(**self.symbols)
            outputs = self._assign_outputs(block, results)
        require = [self._of_sizes(fact, "a requirement") for fact in self.keys["require"]]
        self.mentions += expressions(block)
        declared = self._collected()
        names = {symbol.name for symbol in self.symbols.values()} | {d.name for d in declared}
        body, places = written(block, outputs, names)
        places.update((d.name, d.place) for d in [*declared, *self.symbols.values()])
        return Spec(self._content(declared, require, body), places)

    # --- what is declared ------------------------------------------------------------------------

    def _declare(self, parameter):
        declaration, name = self._evaluated(parameter.annotation), checked_name(parameter.name)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            self._fail(f"'{parameter}' stands for any number of inputs", "name each of them")
        if isinstance(declaration, Tensor):
            if parameter.default is not parameter.empty:
                self._fail(f"the input '{name}' has a default", "only params have defaults")
            self.inputs[name] = repr(declaration)
            self.mentions += [*declaration.dims, declaration.element]
            symbol = Input(name)
        elif isinstance(declaration, (Scalar, ElementType)):
            self.params[name] = self._param(declaration, parameter.default)
            symbol = Param(name)
        else:
            self._fail(f"'{name}' has no declaration",
                       f"annotate it: {name}: f32[i, d] is a tensor, {name}: f32 = 1 a scalar")
        symbol.place = self.place
        self.symbols[parameter.name] = symbol

    def _param(self, declaration, default):
        scalar = declaration if isinstance(declaration, Scalar) else Scalar(declaration, (),
                                                                            self.place)
        self.mentions += [bound for _, bound in scalar.bounds]
        if default is inspect.Parameter.empty:
            return repr(scalar)
        return f"{scalar!r} = {self._of_sizes(default, 'the default of a param')}"

    def _of_sizes(self, value, what):
        value = expression(value)
        check_sizes_only(value, what, self.place)
        self.mentions.append(value)
        return spelled(value)

    def _evaluated(self, annotation):
        """An annotation, also where a module has annotations as text."""
        if not isinstance(annotation, str):
            return annotation
        free = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        names = {name: cell.cell_contents for name, cell in free}
        try:
            return eval(annotation, self.function.__globals__, names)
        except (SyntaxError, NameError) as cause:
            self._fail(f"the annotation '{annotation}' cannot be evaluated: {cause}",
                       "write it without quotes, and without `from __future__ import annotations` "
                       "where its names are not those of the module")

    def _declared_outputs(self):
        outputs = self._evaluated(inspect.signature(self.function).return_annotation)
        if not isinstance(outputs, dict) or not outputs or not all(
                isinstance(output, (Tensor, ElementType)) for output in outputs.values()):
            self._fail(f"{self.function.__name__} does not declare its outputs",
                       "annotate what it returns: -> dict(o=f32[i, e])")
        for output in outputs.values():
            self.mentions += [*output.dims, output.element] if isinstance(output, Tensor) \
                else [output]
        return {checked_name(name): output for name, output in outputs.items()}

    # --- what is computed ------------------------------------------------------------------------

    def _assign_outputs(self, block, results):
        """Statements for the results, or what stands for them."""
        assigned_to = []
        for name, value in self._by_name(results).items():
            declared, value = self.outputs[name], expression(value)
            label = declared.dims if isinstance(declared, Tensor) else block.label_of(value)
            assigned_to.append(block.assign(name, value, label))
        return assigned_to

    def _by_name(self, results):
        values = results if isinstance(results, (tuple, dict)) else (results,)
        if not isinstance(results, dict) and len(values) == len(self.outputs):
            values = dict(zip(self.outputs, values))
        if results is None or set(values) != set(self.outputs):
            count = 0 if results is None else len(values)
            self._fail(f"{self.function.__name__} returns {count} results for "
                       f"{len(self.outputs)} outputs", f"the outputs are {', '.join(self.outputs)}")
        return {name: values[name] for name in self.outputs}

    def _fail(self, message, remedy):
        raise error(message, remedy, self.place)

    # --- the file --------------------------------------------------------------------------------

    def _collected(self):
        """The dims, lets and types that are used, each once, in the order of their declaration."""
        found, pending, seen = {}, list(self.mentions), set()
        while pending:
            value = pending.pop()
            for part in [value] if isinstance(value, ElementType) else walk(
                    value, stop=lambda node: id(node) in seen):
                seen.add(id(part))
                if isinstance(part, Labelled):
                    pending.extend(part.label or ())
                elif isinstance(part, Call):
                    pending.extend(a for a in part.arguments if isinstance(a, ElementType))
                elif isinstance(part, (Declared, ElementType)) and self._is_new(part, found):
                    pending.extend(getattr(part, "mentions", ()))
        return sorted(found.values(), key=lambda declared: declared.order)

    def _is_new(self, declared, found):
        """Notes a declaration; False if it is there already."""
        known = found.get(declared.name)
        if known is not None and (type(known), known.declaration) != (
                type(declared), declared.declaration):
            self._fail(f"'{declared.name}' is declared twice, differently",
                       "take another name for one of the two")
        found.setdefault(declared.name, declared)
        return known is None

    def _content(self, declared, require, body):
        def of(kind):
            return {d.name: d.declaration for d in declared
                    if isinstance(d, kind) and d.declaration is not Declared.NOTHING}
        keys, outputs = self.keys, {
            name: repr(output.element if isinstance(output, Tensor) else output)
            for name, output in self.outputs.items()}
        shape = {getattr(dim, "name", dim): extent
                 for dim, extent in (keys["reference"] or {}).items()}
        optional = {"doc": _sentence(self.function.__doc__), "types": of(ElementType),
                    "dims": of(Dim), "let": of(Let), "require": require, "params": self.params}
        behind = {"grad": ["all"] if keys["grad"] == "all" else list(keys["grad"] or ()),
                  "save": keys["save"], "schedule": keys["schedule"],
                  "reference": shape and {"shape": shape}}
        return {"attnc": 1, "name": keys["name"] or self.function.__name__,
                **{key: value for key, value in optional.items() if value},
                "inputs": self.inputs, "body": body, "outputs": outputs,
                **{key: value for key, value in behind.items() if value}}


def _sentence(docstring):
    """The first paragraph, in one line."""
    return " ".join(inspect.cleandoc(docstring or "").partition("\n\n")[0].split())
