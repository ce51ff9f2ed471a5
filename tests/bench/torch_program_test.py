#!/usr/bin/env python3
"""Specs in operations of PyTorch (bench/cliff/torch_program.py): which are written, and whether they compute
what the evaluator does.

usage: torch_program_test.py ATTNC ATTNC_PROGRAMS
"""
import collections
import concurrent.futures
import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from cliff import inputs, language, peers, shapes, specs, torch_program  # noqa: E402
from cliff.torch_code import NotSaid  # noqa: E402

ATTNC, PROGRAMS = sys.argv.pop(1), sys.argv.pop(1)
DRAWN, SEED = 30, 1
SIZES, LONGEST, USUAL = {"b": 2, "h": 4, "hk": 2}, 96, 24
EXACT = 1e-6  # of what is f64 but for params and what depends on indices alone
CANCELLING = {"signed_features"}  # whose sums 16 bits do not hold; in the gate such a peer does not count
REFUSED = {"library": 3, "tests": 3, "found": 0, "random": 6}  # at most so many are not written


@functools.lru_cache(maxsize=None)
def collected():
    """The specs by group."""
    groups = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        specs.draw(PROGRAMS, SEED, DRAWN, pathlib.Path(folder))
        for spec in specs.collect(pathlib.Path(folder)):
            groups[spec.group].append(spec._replace(content=shapes.bindable(spec.content, spec.name)))
    return groups


def small(content):
    """A shape of a few thousand elements a tensor."""
    reference = (content.get("reference") or {}).get("shape", {})
    shape = {dim: SIZES.get(dim) or min(reference.get(dim, USUAL), LONGEST)
             for dim in shapes.dynamic_dims(content)}
    for one, other in shapes.equal_sizes(content):
        if one in shape and other in shape:
            shape[one] = shape[other] = min(shape[one], shape[other])
    return shape


def written(content):
    return torch_program.source(content, small(content), inputs.params_of(content), device="cpu")


def is_written(content):
    try:
        return bool(written(content))
    except NotSaid:
        return False


def wide(content):
    """The spec with real numbers of 64 bits."""
    def widened(text):
        return re.sub(r"^\s*(f16|bf16|f32)\b", "f64", text)
    return {**content, **{key: {name: widened(text) for name, text in (content.get(key) or {}).items()}
                          for key in ("types", "inputs", "outputs")}}


def evaluated(content, shape, tensors):
    """What the evaluator computes, by name."""
    import torch
    import numpy
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "spec.json").write_text(json.dumps(content))
        options = ["--shape", ",".join(f"{dim}={size}" for dim, size in shape.items())] if shape else []
        for name, tensor in tensors.items():
            stored = tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor
            numpy.save(path / f"{name}.npy", stored.numpy())
            options += ["--input", f"{name}={path}/{name}.npy"]
        for name, value in inputs.params_of(content).items():
            options += ["--param", f"{name}={value}"]
        for name in content["outputs"]:
            options += ["--output", f"{name}={path}/{name}.out.npy"]
        done = subprocess.run([ATTNC, "run", path / "spec.json", "--target", "reference", *options],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(done.stderr)
        return {name: torch.from_numpy(numpy.load(path / f"{name}.out.npy")) for name in content["outputs"]}


def go_outside(tensors):
    """Integers that select beyond what there is."""
    import torch
    for tensor in tensors.values():
        if not tensor.dtype.is_floating_point and tensor.dtype != torch.bool:
            tensor.view(-1)[0] = 0 if tensor.dtype == torch.uint8 else -1
            tensor.view(-1)[-1] = 100


def compared(content, outside, pool):
    """What the program computes, and the evaluator's results as a future."""
    import torch
    shape = small(content)
    text = written(content)
    tensors = inputs.make(torch, content, shape, "cpu")
    if outside:
        go_outside(tensors)
    return torch_program.function(text)(*tensors.values()), pool.submit(evaluated, content, shape, tensors)


class Language(unittest.TestCase):
    def test_operators_bind_as_in_the_grammar(self):
        for text, bound in (("-x ** 2", "-(x ** 2)"), ("a - b - c", "(a - b) - c"),
                            ("2 ** -1 * x", "(2 ** (-1)) * x"), ("a or b and c", "a or (b and c)"),
                            ("not a < b and c", "(not (a < b)) and c"),
                            ("x[i + 1] else 0 + 1", "(x[i + 1] else 0) + 1")):
            self.assertEqual(language.expression(text), language.expression(bound), text)

    def test_a_reduction_takes_several_dims(self):
        self.assertEqual(language.expression("sum((i, j), x)"),
                         language.Call("sum", (language.Dims(("i", "j")), language.Name("x"))))

    def test_what_is_too_much_is_an_error(self):
        for text in ("x y", "(x", "x $ y"):
            self.assertRaises(ValueError, language.expression, text)


class Written(unittest.TestCase):
    def test_attention_is_written_as_torch_compile_knows_it(self):
        content = specs.read(specs.FOLDERS["library"] / "full.json")
        lines = written(content).split("\n", 5)[-1]
        self.assertEqual(lines, """\
    _0 = torch.matmul(q, k.transpose(-1, -2))
    s = _0 * 0.125
    p = torch.softmax(s, dim=-1, dtype=torch.float32)
    o = torch.matmul(p.to(torch.bfloat16), v)
    return {'o': o}
""")

    def test_nearly_all_specs_are_written(self):
        for group, found in collected().items():
            reasons = collections.Counter()
            for spec in found:
                with self.subTest(spec.name):
                    try:
                        compile(written(spec.content), spec.name, "exec")
                    except NotSaid as reason:
                        reasons[str(reason)] += 1
            refused = sum(reasons.values())
            print(f"{group}: {len(found) - refused} of {len(found)} are written",
                  *(f"{count} not: {reason}" for reason, count in reasons.items()), sep="\n    ")
            self.assertLessEqual(refused, REFUSED[group])


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not there")
class Computed(unittest.TestCase):
    def compare(self, change, most, outside):
        from cliff import difference
        for group, found in collected().items():
            far = {}
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                pairs = {spec.name: compared(change(spec.content), outside, pool) for spec in found
                         if is_written(spec.content)}
                for name, (results, expected) in pairs.items():
                    with self.subTest(f"{group}/{name}"):
                        far[name] = difference.relative(results, expected.result())
                        self.assertLess(far[name], 1 if name in CANCELLING else most)
            worst = max(far, key=far.get)
            print(f"{group}: {len(far)} compared; furthest away is {worst}, {far[worst]:.1e}")

    def test_in_64_bits_all_are_as_the_evaluator_says_with_subscripts_outside(self):
        self.compare(wide, EXACT, True)

    def test_as_they_are_they_are_near_enough_to_count(self):
        self.compare(dict, peers.MOST_DIFFERENCE, False)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not there")
class Difference(unittest.TestCase):
    def relative(self, found, expected):
        import torch
        from cliff import difference
        return difference.relative({"o": torch.tensor(found)}, {"o": torch.tensor(expected)})

    def test_it_is_relative_to_what_is_expected(self):
        self.assertAlmostEqual(self.relative([3.0, 4.5], [3.0, 4.0]), 0.1)

    def test_what_is_the_same_and_not_finite_does_not_differ(self):
        inf, nan = float("inf"), float("nan")
        self.assertEqual(self.relative([inf, -inf, nan, 1.0], [inf, -inf, nan, 1.0]), 0)
        self.assertEqual(self.relative([nan, 1.0], [0.0, 1.0]), inf)
        self.assertEqual(self.relative([1.0, 1.0], [inf, 1.0]), inf)
        self.assertEqual(self.relative([1.0], [0.0]), inf)

    def test_another_shape_is_an_error(self):
        self.assertRaises(ValueError, self.relative, [1.0, 2.0], [1.0])


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    unittest.main()
