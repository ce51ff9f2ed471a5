"""Specs as functions of Python: their text, what they compute, and the IR beside that of JSON.

usage: expressions_test.py ATTNC SOURCE
"""
import contextlib
import io
import json
import linecache
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

import attnc
import expressions_library
from attnc.spec import (Spec, abs, bf16, cast, clamp, dim, dims, exp, f32, f64, i32, i64, inf, let,
                        max, maximum, mean, named, part, pi, repeat, size, softmax, spec, sqrt, sum,
                        types, where)
from attnc.spec import bool as condition

attnc_binary, source = sys.argv[1], pathlib.Path(sys.argv[2])
T = types("T=f32")
i, j, d = dims("i j d=4")


def attn(content):
    """The IR of a spec or of its file, without the text of subscripts that are checked when a
    program runs: that is as each spec spells it."""
    given = content if isinstance(content, pathlib.Path) else "-"
    done = subprocess.run([attnc_binary, "compile", given, "--target", "cpu", "--emit", "attn"],
                          input=json.dumps(content, default=str), capture_output=True, text=True)
    assert not done.returncode, done.stderr + json.dumps(content, default=str, indent=1)
    return re.sub(r'attn\.checked = \[("[^"]*"(, )?)*\]', "", done.stdout)


def computed(written, **inputs):
    results = attnc.compile(written, target="cpu")(**inputs)
    return results if isinstance(results, dict) else {next(iter(written["outputs"])): results}


def undescribed(ir):
    """IR without what a spec says of itself: `doc` and `reference`."""
    ir = re.sub(r'attn\.reference = \{[^}]*\}(, )?|(, )?doc = "([^"\\]|\\.)*"', "", ir)
    return ir.replace(" attributes {} {", " {")


class Library(unittest.TestCase):
    """JSON and Python give the same IR, but for `doc` and `reference`, which the functions leave
    out."""

    def test_every_spec_gives_the_ir_of_its_json(self):
        for name in attnc.library():
            with self.subTest(name):
                path = source / f"kernels_spec/{name}.json"
                own = getattr(expressions_library, name)
                self.assertEqual(attn(own), undescribed(attn(path)))
                self.assertEqual(own.get("schedule"), json.loads(path.read_text()).get("schedule"))

    def test_every_function_of_the_language_is_there(self):
        page = (source / "docs/spec.md").read_text()
        tables = page[page.index("## Functions"):page.index("## Reads")]
        cells = " ".join(re.findall(r"^\| (`[^|]*) \|", tables, re.M))
        names = {re.match(r"\w+", cell)[0] for cell in re.findall(r"`([^`]+)`", cells)}
        self.assertGreater(len(names), 25)
        self.assertEqual(names - set(attnc.spec.__all__), set())


class Random:
    """Draws expressions, each twice: by Python's operators, and as text with all parentheses."""

    def __init__(self, seed, x, n, c):
        self.pick = random.Random(seed)
        self.x, self.n, self.c = (x, "x"), (n, "n"), (c, "c")

    def results(self):
        """Real numbers, for reals are stored as such, and conditions: values and texts."""
        values, texts = {}, {}
        for k in range(12):
            value, text = self.name(4)
            values[f"o{k}"], texts[f"o{k}"] = value + 0.5, f"({text} + 0.5)"
            value, text = self.condition(3)
            values[f"c{k}"], texts[f"c{k}"] = ~value, f"(not {text})"
        return values, texts

    def number(self, depth):
        if depth == 0:
            return self.pick.choice([self.x, self.n, (i, "i"), (j, "j"), (size(d), "size(d)"),
                                     (pi, "pi"), (2, "2"), (0.5, "0.5"), (3, "3")])
        return getattr(self, self.pick.choice(
            ["binary"] * 6 + ["divided", "negative", "chosen", "called", "reduced", "read"]))(
                depth - 1)

    def name(self, depth):
        """A number that is none of Python's."""
        while isinstance((found := self.number(depth))[0], (int, float)):
            pass
        return found

    def binary(self, depth):
        (a, left), (b, right) = self.pick.choice([
            (self.name(depth), self.number(depth)), (self.number(depth), self.name(depth))])
        symbol = self.pick.choice(["+", "-", "*", "/", "**"])
        value = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b,
                 "**": lambda: a ** b}[symbol]()
        return value, f"({left} {symbol} {right})"

    def divided(self, depth):
        """// and %, by what is not the constant 0."""
        (a, left), (b, right) = self.number(depth), self.pick.choice([self.x, self.n])
        return (a // b, f"({left} // {right})") if self.pick.random() < 0.5 else \
            (a % b, f"({left} % {right})")

    def negative(self, depth):
        a, text = self.name(depth)
        return (-a, f"(-{text})") if self.pick.random() < 0.8 else (+a, f"(+{text})")

    def chosen(self, depth):
        (c, condition), (a, left), (b, right) = (self.condition(depth), self.number(depth),
                                                 self.number(depth))
        return where(c, a, b), f"where({condition}, {left}, {right})"

    def called(self, depth):
        (a, left), (b, right) = self.name(depth), self.number(depth)
        return self.pick.choice([(maximum(a, b), f"maximum({left}, {right})"),
                                 (abs(a), f"abs({left})"), (exp(a), f"exp({left})"),
                                 (clamp(a, -1, b), f"clamp({left}, -1, {right})"),
                                 (cast(a, i64), f"cast({left}, i64)")])

    def reduced(self, depth):
        a, text = self.name(depth)
        a, text = a * self.x[0], f"({text} * x)"  # so that it has the dims
        return self.pick.choice([(sum(d, a), f"sum(d, {text})"),
                                 (max((i, d), a), f"max((i, d), {text})")])

    def read(self, depth):
        a, text = self.index(depth)
        return self.x[0][a, 0].otherwise(-1), f"(x[{text}, 0] else -1)"

    def index(self, depth):
        if depth == 0:
            return self.pick.choice([self.n, (i, "i"), (j, "j")])
        (a, left), (b, right) = self.index(depth - 1), self.index(depth - 1)
        return self.pick.choice([(a + b, f"({left} + {right})"), (a - b, f"({left} - {right})"),
                                 (a * b, f"({left} * {right})"), (a // b, f"({left} // {right})"),
                                 (-a, f"(-{left})"), (2 - a, f"(2 - {left})")])

    def condition(self, depth):
        if depth == 0:
            return self.c
        if self.pick.random() < 0.3:
            return self.compared(depth - 1)
        (a, left), (b, right) = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick.choice([(a & b, f"({left} and {right})"), (a | b, f"({left} or {right})"),
                                 (~a, f"(not {left})")])

    def compared(self, depth):
        (a, left), (b, right) = self.name(depth), self.number(depth)
        return self.pick.choice([(a < b, f"({left} < {right})"), (a <= b, f"({left} <= {right})"),
                                 (a > b, f"({left} > {right})"), (a >= b, f"({left} >= {right})"),
                                 (a == b, f"({left} == {right})"),
                                 (a != b, f"({left} != {right})")])


class Precedence(unittest.TestCase):
    def test_text_of_random_expressions_means_what_python_means(self):
        for seed in range(25):
            texts = {}

            def drawn(x: f32[i, d], n: i32[j], c: condition[j]):
                results, texts_of_results = Random(seed, x, n, c).results()
                texts.update(texts_of_results)
                return results
            drawn.__annotations__["return"] = {
                f"{kind}{k}": element for k in range(12)
                for kind, element in (("o", f64), ("c", condition))}
            written = spec(drawn)
            body = [f"{name} = {text}" for name, text in texts.items()]
            with self.subTest(seed):
                self.assertEqual(attn(written), attn({**written, "body": body}))

    def test_parentheses_stand_only_where_they_are_needed(self):
        @spec
        def few(x: f32[i, d], y: f32[i, d]) -> dict(o=f32[i, d]):
            a = x - (y - 1) - (x - y)
            b = -(x ** 2) + (-x) ** 2 * y / (x * y)
            c = where(~(x < y) & ((x == 1) | (y == 2)) | (x > 3), a, 2 ** -b ** 2)
            return x[i, (d + 1) % size(d)] * (c + x[i + 1, d].otherwise(-inf))
        self.assertEqual(few["body"], [
            "a = x - (y - 1) - (x - y)",
            "b = -x ** 2 + (-x) ** 2 * y / (x * y)",
            "c = where(not x < y and (x == 1 or y == 2) or x > 3, a, 2 ** -b ** 2)",
            "o[i,d] = x[i,(d+1)%size(d)] * (c + (x[i+1,d] else -inf))"])


class Text(unittest.TestCase):
    def test_is_as_written_by_hand(self):
        b, h, i, j, d, e = dims("b h i j d=64 e=64")
        T = types("T=bf16")

        @spec(reference={b: 2, "h": 3, i: 129, j: 200}, grad=["q"], save="less",
              schedule={"splits": 2}, require=[size(i) <= size(j)])
        def causal(q: T[b, h, i, d], k: T[b, h, j, d], v: T[b, h, j, e],
                   scale: f32 > 0 = 1 / sqrt(size(d))) -> dict(o=T[b, h, i, e]):
            """Causal attention,
            the mask aligned at the top left

            More about it.
            """
            s = sum(d, q * k) * scale
            p = softmax(j, where(j <= i, s, -inf))
            return sum(j, p * v)
        text = """{
  "attnc": 1,
  "name": "causal",
  "doc": "Causal attention, the mask aligned at the top left",
  "types": { "T": "bf16" },
  "dims": { "d": 64, "e": 64 },
  "require": ["size(i) <= size(j)"],
  "params": { "scale": "f32 > 0 = 1 / sqrt(size(d))" },
  "inputs": {
    "q": "T[b, h, i, d]",
    "k": "T[b, h, j, d]",
    "v": "T[b, h, j, e]"
  },
  "body": [
    "s = sum(d, q * k) * scale",
    "p = softmax(j, where(j <= i, s, -inf))",
    "o[b,h,i,e] = sum(j, p * v)"
  ],
  "outputs": { "o": "T" },
  "grad": ["q"],
  "save": "less",
  "schedule": { "splits": 2 },
  "reference": { "shape": { "b": 2, "h": 3, "i": 129, "j": 200 } }
}"""
        self.assertEqual(causal.to_json(), text)
        self.assertEqual(str(causal), text)
        self.assertEqual(causal.to_dict(), json.loads(text))
        self.assertIs(type(causal.to_dict()), dict)

    def test_declares_all_kinds_of_dims(self):
        n, m, w = dim("n", None), dim("m", size(i) * 2), let("w", 3)
        b = dim("b", w - 1)
        ragged = dim("r", ragged="cu", over=b, max=size(m))
        length = dim("j", length="clamp(len[i], 0, 4)", max=8)

        @spec(grad="all", name="other")
        def kinds(x: bf16[i, length], y: f32[()], z: f32[ragged], len: i32[i], cu: i32[m],
                  k: (i64 >= -2) < 2**40, from_: f32) -> dict(o=f32):
            return x + y + n + sum(ragged, z) + k * from_
        self.assertEqual(kinds["dims"], {
            "n": None, "m": "size(i) * 2", "b": "w - 1",
            "r": {"ragged": "cu", "over": "b", "max": "size(m)"},
            "j": {"extent": "clamp(len[i], 0, 4)", "max": 8}})
        self.assertEqual(kinds["let"], {"w": 3})
        self.assertEqual(kinds["params"], {"k": "i64 >= -2 < 1099511627776", "from": "f32"})
        self.assertEqual(kinds["inputs"]["y"], "f32[]")
        self.assertEqual((kinds["name"], kinds["grad"]), ("other", ["all"]))
        self.assertEqual(kinds["body"], ["o = x + y + n + sum(r, z) + k * from"])

    def test_numbers_keep_their_kind_and_value(self):
        @spec
        def numbers(x: f32[i, d]) -> dict(o=f32[i, d]):
            return (numpy.float32(2) * x * numpy.int64(3) + 1e-7 + 1e30 - 10**12 - 2.0
                    + float("-inf") - (-3))
        self.assertEqual(numbers["body"], [
            "o[i,d] = 2.0 * x * 3 + 1e-07 + 1e+30 - 1000000000000 - 2.0 + -inf - -3"])
        attn(numbers)


class Statements(unittest.TestCase):
    x = numpy.arange(8, dtype=numpy.float32).reshape(2, 4) / 4

    def test_are_named_as_the_variables(self):
        @spec
        def variables(x: f32[i, d]) -> dict(o=f32[i, d], m=f32[i]):
            low, high = x - 1, x + 1
            typed: object = low * high
            typed /= 2
            m, alias = max(d, typed), i
            for _ in range(2):
                m = m * 2 + alias
            return typed, m
        self.assertEqual(variables["body"], [
            "low = x - 1", "high = x + 1", "typed = low * high", "typed = typed / 2",
            "m = max(d, typed)", "m = m * 2 + i", "m[i] = m * 2 + i", "o[i,d] = typed"])

    def test_an_overwritten_variable_keeps_its_former_value_where_that_is_used(self):
        @spec
        def overwritten(x: f32[i, d]) -> dict(s=f32[i, d], o=f32[i, d]):
            s = x + 1
            first = s
            s = s * 2
            s = s - x
            return s, s * first
        self.assertEqual(overwritten["body"], ["s_1 = x + 1", "s = s_1 * 2", "s[i,d] = s - x",
                                               "o[i,d] = s * s_1"])
        results = computed(overwritten, x=self.x)
        numpy.testing.assert_array_equal(results["s"], self.x + 2)
        numpy.testing.assert_array_equal(results["o"], (self.x + 2) * (self.x + 1))

    def test_what_a_function_shares_is_written_once(self):
        def normalised(x):
            y = exp(x - max(d, x))
            return y / sum(d, y)

        @part
        def named_parts(x):
            y = exp(x - max(d, x))
            return y / sum(d, y)

        @spec
        def shared(x: f32[i, d]) -> dict(o=f32[i, d]):
            return normalised(x)

        @spec
        def parts(x: f32[i, d]) -> dict(o=f32[i, d]):
            return named_parts(x)
        self.assertEqual(shared["body"], ["exp_1 = exp(x - max(d, x))",
                                          "o[i,d] = exp_1 / sum(d, exp_1)"])
        self.assertEqual(parts["body"], ["y = exp(x - max(d, x))", "o[i,d] = y / sum(d, y)"])

    def test_labels_order_dims_and_allow_subscripts(self):
        @spec
        def labelled(x: f32[i, d]) -> dict(o=f32[d, i], p=f32):
            y = (x * 2)[d, i]
            z = y[(d + 1) % size(d), i] - (x + 1)[i, d][i, 0]
            return y, z
        self.assertEqual(labelled["body"], [
            "y[d,i] = x * 2", "value_1[i,d] = x + 1", "z = y[(d+1)%size(d),i] - value_1[i,0]",
            "o[d,i] = y", "p = z"])
        numpy.testing.assert_array_equal(computed(labelled, x=self.x)["o"], 2 * self.x.T)

    def test_can_be_named_by_a_program(self):
        @spec
        def powers(x: f32[i, d]) -> dict(o=f32[i, d]):
            total = 0
            for n in range(1, 3):
                total = total + named(f"x{n}", x ** n)
            return total
        self.assertEqual(powers["body"][:2], ["x1 = x ** 1", "total = 0 + x1"])

    def test_an_output_can_be_a_dict_of_results(self):
        @spec
        def by_name(x: f32[i, d]) -> dict(a=f32[i, d], b=f32[i, d]):
            return {"b": x + 1, "a": x + 2}
        self.assertEqual(by_name["body"], ["a[i,d] = x + 2", "b[i,d] = x + 1"])


class Repeats(unittest.TestCase):
    x = Statements.x

    def test_carry_several_values_and_nest(self):
        steps = let("steps", 3)

        @spec
        def loops(x: f32[i, d]) -> dict(z=f32[i, d], o=f32[d, i]):
            m = max(d, x)

            def swapped(z, w):
                t = z + m
                return w + t, z
            z, w = repeat(steps, swapped, x, x * 2)

            def outer(z):
                def halved(z):
                    return z * 0.5
                return repeat(2, halved, z + w)
            z = repeat(2, outer, z)
            return z, w
        z, w = self.x, 2 * self.x
        for _ in range(3):
            z, w = w + z + self.x.max(1, keepdims=True), z
        for _ in range(2):
            z = (z + w) / 4
        self.assertEqual(loops["let"], {"steps": 3})
        results = computed(loops, x=self.x)
        numpy.testing.assert_allclose(results["z"], z, rtol=1e-6)
        numpy.testing.assert_allclose(results["o"], w.T, rtol=1e-6)

    def test_leave_what_they_start_with_as_it_was(self):
        @spec
        def started(x: f32[i, d]) -> dict(o=f32[i, d], z=f32[i, d]):
            z = x + 1
            first = z

            def doubled(z):
                y = z * first
                return y

            y = x - 1
            z = repeat(2, doubled, z)
            return z * first * y, z
        one = self.x + 1
        results = computed(started, x=self.x)
        numpy.testing.assert_allclose(results["z"], one ** 3, rtol=1e-6)
        numpy.testing.assert_allclose(results["o"], one ** 4 * (self.x - 1), rtol=1e-6)

    def test_what_they_share_with_the_rest_is_computed_outside(self):
        def shared(x):
            return exp(x) / sum(d, exp(x))

        @spec
        def hoisted(x: f32[i, d]) -> dict(o=f32[i, d]):
            parts = [shared(x)]
            return repeat(2, lambda z: z * parts[0] + parts[0], x) + parts[0]
        weights = numpy.exp(self.x) / numpy.exp(self.x).sum(1, keepdims=True)
        expected = (self.x * weights + weights) * weights + weights + weights
        numpy.testing.assert_allclose(computed(hoisted, x=self.x)["o"], expected, rtol=1e-5)


class Sources(unittest.TestCase):
    """Where functions come from changes names alone."""
    TEXT = """
from __future__ import annotations
from attnc.spec import dims, exp, f32, max, spec, sum
i, d = dims("i d=4")

@spec
def normalised(x: f32[i, d]) -> dict(o=f32[i, d]):
    y = exp(x - max(d, x))
    return y / sum(d, y)
"""

    def test_a_module_with_annotations_as_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "module.py"
            path.write_text(self.TEXT)
            names = {}
            exec(compile(self.TEXT, str(path), "exec"), names)
        self.assertEqual(names["normalised"]["body"], [
            "y = exp(x - max(d, x))", "o[i,d] = y / sum(d, y)"])

    def test_text_without_a_file(self):
        names = {}
        exec(self.TEXT, names)
        self.assertEqual(names["normalised"]["body"], [
            "exp_1 = exp(x - max(d, x))", "o[i,d] = exp_1 / sum(d, exp_1)"])

    def test_a_file_that_is_not_the_text_which_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "module.py"
            path.write_text(self.TEXT.replace("exp(x", "abs(x"))
            names = {}
            exec(compile(self.TEXT, str(path), "exec"), names)
        self.assertEqual(names["normalised"]["body"][0], "exp_1 = exp(x - max(d, x))")


class Page(unittest.TestCase):
    PAGE = "docs/python-specs.md"

    def test_examples_print_what_it_says(self):
        page = (source / self.PAGE).read_text()
        blocks = list(re.finditer(r"^```(\w+)\n(.*?)^```", page, re.M | re.S))
        self.assertGreater(len(blocks), 8)
        names, printed = {"__name__": "page"}, ""
        for block in blocks:
            if block[1] != "python":
                self.assertEqual(printed, block[2])
                continue
            code = "\n" * page.count("\n", 0, block.start(2)) + block[2]
            linecache.cache[self.PAGE] = (len(code), None, code.splitlines(True), self.PAGE)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, self.PAGE, "exec"), names)
            printed = out.getvalue()


class Uses(unittest.TestCase):
    def test_everything_that_takes_a_spec_takes_it(self):
        import torch
        import attnc.torch
        q, k, v = (torch.randn(2, 3, 9, 64) for _ in range(3))
        own, json_ = expressions_library.causal, "causal"
        results = [attnc.torch.op(own)(q, k, v), attnc.torch.op(json_)(q, k, v)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "causal.json"
            path.write_text(own.to_json())
            for given in (own, own.to_dict(), own.to_json(), path):
                program = attnc.Jit().compile(given, target="cpu", set={"T": "f32"})
                self.assertEqual(program.name, "causal")
                results.append(program(q=q, k=k, v=v))
        for result in results[1:]:
            torch.testing.assert_close(result, results[0], rtol=0, atol=0)

    def test_gradients_are_asked_for_by_name(self):
        @spec(grad=["x"])
        def squares(x: T[i, d]) -> dict(o=T[i]):
            return mean(d, x * x)
        x = Statements.x
        backward = attnc.compile(squares, target="cpu").backward
        gradient = backward(x=x, grad_o=numpy.ones(2, dtype=numpy.float32))
        numpy.testing.assert_allclose(gradient, x / 2, rtol=1e-6)

    def test_a_spec_is_a_dict_that_can_be_changed(self):
        other = Spec({**expressions_library.full, "name": "other"}, {})
        self.assertIn('"name": "other"', other.to_json())
        self.assertEqual(attnc.compile({**other}, target="cpu").name, "other")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
