"""Names for what a function assigns: they are not to be had from Python, but stand in its source.

A function is run from its source with a call behind each assignment, as if `s = x` were
`s = x; s = hook("s", s)`. Nothing is guessed: where there is no source, or what it compiles to is
not the function at hand, the function is run as it is.
"""
import __future__
import ast
import functools
import inspect
import operator
import types

_HOOK = "<hook>"  # no identifier, so that it is no name of the function's
_FUTURES = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag
                                           for name in __future__.all_feature_names))


def observed(function, hook):
    """The function, with hook(name, value) for each assignment of a variable: its result is what
    the variable then holds."""
    code = function.__code__
    definition = None if _HOOK in code.co_freevars else _definition(function)
    if definition is None or not _is_same(_compiled(definition, code), code):
        return function
    code = _compiled(ast.fix_missing_locations(_Hooks().visit(definition)), code)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[_HOOK] = types.CellType(hook)
    run = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                             tuple(cells[name] for name in code.co_freevars))
    run.__kwdefaults__ = function.__kwdefaults__
    return run


def _definition(function):
    """The syntax tree of a function without what is evaluated where it is defined, or None."""
    code = function.__code__
    try:
        tree = ast.parse("".join(inspect.findsource(function)[0]))
    except (OSError, TypeError, SyntaxError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and code.co_firstlineno \
                == min([node.lineno, *(d.lineno for d in node.decorator_list)]):
            node.decorator_list, node.returns = [], None
            for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                argument.annotation = None
            node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
            return node
    return None


def _compiled(definition, code):
    """The code of a definition in the place of `code`: below what it has its free variables of."""
    names = [ast.arg(name, lineno=1, col_offset=0) for name in (*code.co_freevars, _HOOK)]
    around = ast.FunctionDef(
        name="around", body=[definition], decorator_list=[], type_params=[], lineno=1, col_offset=0,
        args=ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[]))
    module = compile(ast.Module([around], type_ignores=[]), code.co_filename, "exec",
                     flags=code.co_flags & _FUTURES, dont_inherit=True)
    return _code_in(_code_in(module))


def _code_in(code):
    return next(constant for constant in code.co_consts if isinstance(constant, types.CodeType))


def _is_same(one, other):
    """True if both do the same, with the same names."""
    if not isinstance(one, types.CodeType) or not isinstance(other, types.CodeType):
        return _unqualified(one) == _unqualified(other)
    return all(getattr(one, part) == getattr(other, part) for part in
               ("co_code", "co_names", "co_varnames", "co_freevars")) \
        and len(one.co_consts) == len(other.co_consts) \
        and all(map(_is_same, one.co_consts, other.co_consts))


def _unqualified(constant):
    """A constant, where Python before 3.11 has qualified names without what is around them."""
    return repr(constant).rpartition("<locals>.")[2]


class _Hooks(ast.NodeTransformer):
    def visit_assignment(self, node):
        self.generic_visit(node)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [part.id for target in targets for part in ast.walk(target)
                 if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        return [node, *(ast.copy_location(_call(name), node) for name in names)]

    visit_Assign = visit_AugAssign = visit_assignment

    def visit_AnnAssign(self, node):
        return self.visit_assignment(node) if node.value else node


def _call(name):
    call = ast.Call(ast.Name(_HOOK, ast.Load()),
                    [ast.Constant(name), ast.Name(name, ast.Load())], [])
    return ast.Assign([ast.Name(name, ast.Store())], call)
