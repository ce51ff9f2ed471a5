"""Mistakes in specs of Python: each is refused with the line it is in, the cause and a remedy."""
import builtins
import inspect
import math
import unittest

import attnc
from attnc.spec import (cast, dim, dims, exp, f16, f32, i32, inf, let, maximum, named, repeat, size,
                        softmax, spec, sqrt, sum, types, where)

i, j, d = dims("i j d=4")
CASES = []


def wrong(cause, remedy):
    """A case: a function without arguments that writes a spec, and compiles it if it can. The line
    with the comment `here` is to be blamed."""
    def register(case):
        lines, first = inspect.getsourcelines(case)
        blamed = next(n for n, line in enumerate(lines) if line.rstrip().endswith("# here"))
        CASES.append((case, first + blamed, cause, remedy))
        return case
    return register


# --- Python that is not mathematics --------------------------------------------------------------

@wrong("neither true nor false", "`if` is where(condition, a, b)")
def branch_on_an_expression():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        if x > 0:  # here
            return x
        return -x


@wrong("neither true nor false", "(a < b) & (b < c)")
def chained_comparison():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        y = x + 1
        return where(0 < y < 1, x, 0)  # here


@wrong("neither true nor false", "(a) & (b)")
def python_and():
    @spec
    def f(x: f32[i, d], y: f32[j]) -> dict(o=f32[i]):
        p = softmax(d, where(x > 0 and d < 2, x, -inf))  # here
        return sum(d, p)


@wrong("neither true nor false", "~(a)")
def python_not():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return where(not x > 0, x, 0)  # here


@wrong("neither true nor false", "(a) & (b)")
def comparison_without_parentheses():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return where(d <= i & d > i - 2, x, 0)  # here


@wrong("an expression is not a sequence", "those of attnc.spec: import them")
def python_sum():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        return builtins.sum(d, x)  # here


@wrong("an expression is not a sequence", "those of attnc.spec: import them")
def python_sum_of_a_tensor():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        return builtins.sum(x)  # here


@wrong("neither true nor false", "max, min, all and any are those of attnc.spec")
def python_max():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        return builtins.max(d, x)  # here


@wrong("Python cannot make a number of it", "not of math")
def function_of_math():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return math.exp(x)  # here


@wrong("Python cannot take its length", "the extent of a dim is size(dim)")
def length_of_a_tensor():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return x / len(x)  # here


@wrong("specs have no @", "sum(d, q * k)")
def matrix_product():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return x @ x  # here


@wrong("True cannot stand in an expression", "a condition is a comparison")
def truth_value():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return where(True, x, 0)  # here


@wrong("[1, 2] cannot stand in an expression", "tensors are inputs")
def list_of_numbers():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return x * [1, 2]  # here


@wrong("NaN cannot stand in an expression", "inf - inf")
def not_a_number():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return x * float("nan")  # here


@wrong("more than 200 operations deep", "name a part of it")
def deep_expression():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return builtins.sum([x] * 300)  # here


# --- dims, subscripts and labels -----------------------------------------------------------------

@wrong("sum takes a dim first", "as in sum(j, x)")
def reduction_of_the_operand_first():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        return sum(x, d)  # here


@wrong("'d' is the index along a dim, which the default of a param does not have", "size(d)")
def index_in_a_default():
    @spec  # here
    def f(x: f32[i, d], scale: f32 > 0 = 1 / sqrt(d)) -> dict(o=f32[i, d]):
        return x * scale


@wrong("'i' is the index along a dim, which a let does not have", "size(i)")
def index_in_a_let():
    let("half", i // 2)  # here


@wrong("size takes a dim, this is x", "size(j)")
def size_of_a_tensor():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return x / size(x)  # here


@wrong("the dim 'j' has no extent", "its extent stands in `dims`")
def dim_without_an_extent():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        y = x + 1
        y = y * sum(j, x)  # here
        return y
    attnc.compile(f, target="cpu")


@wrong("it may reach size(d)", "")
def subscript_outside():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        y = x * 2
        return y + x[i, d + 1]  # here
    attnc.compile(f, target="cpu")


@wrong("a subscript is an integer expression", "a dim stands for all of its indices")
def slice_of_a_tensor():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        return x[:, 0]  # here


@wrong("0 is no dim", "what has a label are read with subscripts")
def subscripts_of_what_has_no_label():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        return (x + 1)[i, 0]  # here


@wrong("a dim occurs twice", "name each dim of the value once")
def label_with_a_dim_twice():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return (x + 1)[i, i]  # here


@wrong("does not name the dims of the value", "reduce it, sum(d, ...)")
def label_without_a_dim():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        return x + 1  # here
    attnc.compile(f, target="cpu")


@wrong("where takes a condition here", "compare it: x != 0")
def number_for_a_condition():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        y = maximum(x, 1)
        return where(y,  # here
                     x, 0)
    attnc.compile(f, target="cpu")


# --- names ---------------------------------------------------------------------------------------

@wrong("the name 'exp' belongs to the language", "take another name")
def variable_with_the_name_of_a_function():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        exp = sum(d, x)  # here
        return exp


@wrong("'d' cannot be assigned", "")
def variable_with_the_name_of_a_dim():
    def total(x):
        return sum(d, x)

    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i]):
        y = named("d", total(x * 2) + 1)  # here
        return y
    attnc.compile(f, target="cpu")


@wrong("'i' is declared twice, differently", "another name for one of the two")
def two_dims_of_one_name():
    other = dims("i=3")

    @spec  # here
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return x + other


@wrong("there is no spec for the statement 'x'", "named is for the function of a spec")
def statement_without_a_spec():
    named("x", i + 1)  # here


@wrong("'y' has a value only inside its repeat", "a repeat returns what it carries")
def result_of_an_iteration_outside():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        kept = []

        def step(z):
            y = z * 2
            kept.append(y)
            return y + 1
        z = repeat(3, step, x)
        return exp(z + kept[0])  # here


@wrong("the repeat carries 2 values, its function takes 1", "repeat(6, step, z) calls step(z)")
def repeat_of_too_many_values():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return repeat(3, lambda z: z + 1, x, x)  # here


@wrong("x is no number of iterations", "let(")
def repeat_of_an_unknown_number():
    @spec
    def f(x: f32[i, d]) -> dict(o=f32[i, d]):
        return repeat(x, lambda z: z + 1, x)  # here


# --- declarations --------------------------------------------------------------------------------

@wrong("'x' has no declaration", "x: f32[i, d] is a tensor")
def parameter_without_a_declaration():
    @spec  # here
    def f(x) -> dict(o=f32[i, d]):
        return x


@wrong("f does not declare its outputs", "-> dict(o=f32[i, e])")
def function_without_outputs():
    @spec  # here
    def f(x: f32[i, d]):
        return x


@wrong("f returns 1 results for 2 outputs", "the outputs are o, p")
def too_few_results():
    @spec  # here
    def f(x: f32[i, d]) -> dict(o=f32[i, d], p=f32[i, d]):
        return x


@wrong("the input 'x' has a default", "only params have defaults")
def input_with_a_default():
    @spec  # here
    def f(x: f32[i, d] = 0) -> dict(o=f32[i, d]):
        return x


@wrong("a param is f32 or i64, not f16", "f16[()] for one element")
def param_of_another_type():
    @spec  # here
    def f(x: f32[i, d], scale: f16 = 1) -> dict(o=f32[i, d]):
        return x * scale


@wrong("two bounds are not chained", "(f32 >= 0) < 1")
def bounds_in_a_chain():
    @spec
    def f(x: f32[i, d], p: f32 >= 0 < 1) -> dict(o=f32[i, d]):  # here
        return x * p


@wrong("the bound size(i) is not a constant", "spec(require=[...])")
def bound_that_is_a_size():
    f32 < size(i)  # here


@wrong("no type of storage", "the types are f16, bf16")
def unknown_type():
    types("T=float")  # here


@wrong("the extent 'size(i)' of 'n' is no number", 'dim("n", ...)')
def extent_that_is_text():
    dims("n=size(i)")  # here


@wrong("needs one of: an extent, a length, ragged", 'it is dims("n")')
def dim_of_two_kinds():
    dim("n", 3, length="len[b]")  # here


@wrong("cast takes a type second", "cast(x, i64)")
def cast_to_a_number():
    cast(i, 64)  # here


@wrong("the annotation 'Q[i, d]' cannot be evaluated: name 'Q' is not defined", "without quotes")
def unknown_type_in_text():
    def f(x):  # here
        return x
    f.__annotations__ = {"x": "Q[i, d]"}
    spec(f)


class Errors(unittest.TestCase):
    def test_have_the_line_the_cause_and_a_remedy(self):
        self.assertGreater(len(CASES), 40)
        for case, line, cause, remedy in CASES:
            with self.subTest(case.__name__), self.assertRaises(attnc.SpecError) as raised:
                case()
            message = str(raised.exception)
            with self.subTest(case.__name__):
                self.assertIn(f"{__file__}:{line}: error: ", message)
                self.assertIn(cause, message)
                self.assertIn(remedy, message)

    def test_of_declarations_have_the_line_of_the_function(self):
        @spec
        def f(x: f32[i, d], y: i32[i], scale: f32 = 1) -> dict(o=f32[i, d]):
            return x * scale
        f["params"]["scale"] = "f31 = 1"
        line = inspect.currentframe().f_lineno - 4
        with self.assertRaisesRegex(attnc.SpecError, f"{__file__}:{line}: error: .*f31"):
            attnc.compile(f, target="cpu")


if __name__ == "__main__":
    unittest.main()
