#!/usr/bin/env python3
"""The Python module, with the standard library and NumPy; with PyTorch where there is a GPU for it.

usage: attnc_test.py SPEC_DIRECTORY [unittest's arguments]
"""
import array
import importlib.util
import itertools
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import attnc

SPECS = pathlib.Path(sys.argv.pop(1))
SINGLE = 2.0 ** -24  # the unit of rounding of f32
LLVM = pathlib.Path("/usr/lib/llvm-22/lib/libLLVM.so")
F32 = {"T": "f32", "d": 8, "e": 8}


def has(module):
    return importlib.util.find_spec(module) is not None


class Array:
    """A C-contiguous array of f32 in host memory, which is all that attnc asks for."""

    def __init__(self, shape, values=None, read_only=False):
        self.shape = shape
        self.values = array.array("f", values or [math.nan] * math.prod(shape))
        self.read_only = read_only

    @property
    def __array_interface__(self):
        return {"typestr": "<f4", "shape": self.shape, "version": 3,
                "data": (self.values.buffer_info()[0], self.read_only)}

    def __getitem__(self, index):
        flat = 0
        for at, extent in zip(index, self.shape):
            flat = flat * extent + at
        return self.values[flat]


def random_array(shape, seed):
    draw = random.Random(seed)
    return Array(shape, [draw.uniform(-1, 1) for _ in range(math.prod(shape))])


def causal(q, k, v, scale):
    """Each output in float64 with a bound on what f32 may make of it."""
    b, h, rows, width = q.shape
    for bb, hh, i in itertools.product(range(b), range(h), range(rows)):
        s = [scale * sum(q[bb, hh, i, d] * k[bb, hh, j, d] for d in range(width))
             for j in range(i + 1)]
        sizes = [scale * sum(abs(q[bb, hh, i, d] * k[bb, hh, j, d]) for d in range(width))
                 for j in range(i + 1)]
        # A score is a sum of `width` products, scaled and shifted; exp makes its error relative;
        # two sums over the row and a division follow. Twice that, for terms of higher order.
        relative = 2 * SINGLE * ((width + 8) * max(sizes) + 2 * (i + 1) + 8)
        weights = [math.exp(x - max(s)) for x in s]
        for e in range(v.shape[3]):
            value = sum(w * v[bb, hh, j, e] for j, w in enumerate(weights)) / sum(weights)
            size = sum(w * abs(v[bb, hh, j, e]) for j, w in enumerate(weights)) / sum(weights)
            yield (bb, hh, i, e), value, 2 * relative * size


class OnCpu(unittest.TestCase):
    def setUp(self):
        self.program = attnc.compile(SPECS / "causal.json", target="cpu", set=F32)
        self.q, self.k, self.v = (random_array((1, 2, 5, 8), seed) for seed in range(3))
        self.o = Array((1, 2, 5, 8))

    def expect_causal(self, scale):
        for index, value, bound in causal(self.q, self.k, self.v, scale):
            self.assertLessEqual(abs(self.o[index] - value), bound, index)

    def test_computes_what_the_spec_says(self):
        result = self.program(q=self.q, k=self.k, v=self.v, out={"o": self.o})
        self.assertIs(result, self.o)
        self.expect_causal(1 / math.sqrt(8))

    def test_params_are_passed_by_name(self):
        self.program(q=self.q, k=self.k, v=self.v, out=self.o, scale=3)
        self.expect_causal(3)

    def test_a_plan_is_launched_often(self):
        plan = self.program.bind(q=self.q, k=self.k, v=self.v, out=self.o)
        for _ in range(2):
            self.o.values[:] = array.array("f", [math.nan] * len(self.o.values))
            plan()
            self.expect_causal(1 / math.sqrt(8))
        self.assertEqual(plan.workspace_bytes, 0)

    def test_a_spec_may_be_text_or_a_dict(self):
        text = (SPECS / "causal.json").read_text(encoding="utf-8")
        for spec in (text, json.loads(text), str(SPECS / "causal.json")):
            program = attnc.compile(spec, target="cpu", set=F32)
            self.assertEqual([t.name for t in program.inputs], ["q", "k", "v"])

    def test_a_program_in_the_dialect_is_taken_only_when_asked_for(self):
        text = attnc.compile(SPECS / "causal.json", target="cpu", keep_texts=True).text("attn")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "causal.mlir")
            path.write_text(text, encoding="utf-8")
            with self.assertRaises(attnc.InvalidArgument) as raised:
                attnc.compile(path, target="cpu")
            self.assertIn("allow_mlir", raised.exception.remedy)
            self.assertEqual(attnc.compile(path, target="cpu", allow_mlir=True).name, "causal")

    def test_a_program_says_what_is_in_it(self):
        program = self.program
        self.assertEqual((program.name, program.target), ("causal", "cpu"))
        self.assertEqual(program.inputs[0][:3], ("q", "f32", ("b", "h", "i", "d")))
        self.assertEqual([t.name for t in program.outputs], ["o"])
        self.assertEqual(program.dims["d"], 8)
        self.assertIsNone(program.dims["i"])
        self.assertEqual(program.params, (("scale", "f32", True),))
        self.assertGreater(program.seconds, 0)
        self.assertIn("q: f32[b, h, i, d]", repr(program))
        manifest = json.loads(program.text("manifest"))
        self.assertEqual(manifest["attnc_manifest"], [2, 3])
        self.assertEqual([kernel["form"] for kernel in manifest["kernels"]], ["cpu"])
        self.assertIsNone(program.text("red"))

    def test_a_program_does_not_depend_on_where_its_spec_lies(self):
        with tempfile.TemporaryDirectory() as folder:
            moved = pathlib.Path(folder) / "elsewhere.json"
            shutil.copy(SPECS / "causal.json", moved)
            other = attnc.compile(moved, target="cpu", set=F32)
        self.assertEqual(other.text("manifest"), self.program.text("manifest"))
        self.assertIn("causal:", other.text("manifest"))

    def test_a_memory_budget_is_checked_when_shapes_are_bound(self):
        program = attnc.compile(
            {"attnc": 1, "name": "table", "inputs": {"s": "f32[i, j]"},
             "body": ["p[i,j] = softmax(j, s)", "y[i] = p[i, size(j) - 1]"],
             "outputs": {"y": "f32"}}, target="cpu")
        s, y = Array((2, 4), [0] * 8), Array((2,))
        bytes_of_weights = 2 * 4 * 4
        arguments = {"s": s, "out": {"y": y}}
        program(memory_budget=1 << 20, **arguments)
        self.assertEqual(list(y.values), [0.25, 0.25])
        with self.assertRaises(attnc.InvalidArgument) as raised:
            program.bind(memory_budget=bytes_of_weights - 1, **arguments)
        self.assertIn("p: f32[i, j], 32 bytes", str(raised.exception))
        with self.assertRaises(attnc.InvalidArgument):
            program.launch({"s": s}, {"y": y}, memory_budget=0)

    def test_inputs_that_disagree_are_named_with_their_declarations(self):
        with self.assertRaises(attnc.InvalidArgument) as raised:
            self.program(q=self.q, k=self.k, v=random_array((1, 2, 4, 8), 1), out=self.o)
        self.assertIn("v: dim j is 4 but k has 5", str(raised.exception))
        self.assertRegex(str(raised.exception), r"k is declared at causal:\d+:\d+, v is ")

    def test_what_does_not_fit_raises_with_a_reason(self):
        arrays = {"q": self.q, "k": self.k, "v": self.v}
        for changed, out, reason in (
                ({"q": 1}, self.o, "q: int is no tensor"),
                ({"w": self.q}, self.o, "there is no w in <attnc program causal"),
                ({"q": random_array((1, 2, 5, 9), 1)}, self.o, "dim d is 9 but the program has 8"),
                ({"scale": -1.0}, self.o, "param scale is -1"),
                ({}, Array((1, 2, 5, 8), read_only=True), "output o is read-only"),
                ({}, {"p": self.o}, "there is no p in"),
                ({}, self.q, "output o overlaps input q")):
            with self.subTest(reason), self.assertRaises(attnc.InvalidArgument) as raised:
                self.program(out=out, **{**arrays, **changed})
            self.assertIn(reason, str(raised.exception))

    def test_numpy_arrays_are_taken_and_made(self):
        import numpy
        q, k, v = (numpy.frombuffer(x.values, "f4").reshape(x.shape)
                   for x in (self.q, self.k, self.v))
        o = self.program(q=q, k=k, v=v)
        self.o.values[:] = array.array("f", o.ravel().tolist())
        self.expect_causal(1 / math.sqrt(8))


def gradients(q, k, v, grad_o, scale):
    """Those of softmax(scale q k') v, with P the weights: dV = P'G, dQ = scale dS K and
    dK = scale dS'Q, where dS = P (GV' - rowsum(G o)). In float64, each with a bound on what f32 may
    make of it."""
    import numpy
    q, k, v, grad_o = (x.astype("float64") for x in (q, k, v, grad_o))
    weights = numpy.exp(scale * q @ k.T)
    weights /= weights.sum(axis=1, keepdims=True)
    change = grad_o @ v.T - (grad_o * (weights @ v)).sum(axis=1, keepdims=True)
    # The same with the size of each term.
    q1, k1, v1, g1 = (abs(x) for x in (q, k, v, grad_o))
    change1 = g1 @ v1.T + (g1 * (weights @ v1)).sum(axis=1, keepdims=True)
    # A score is a sum of `width` products, scaled and shifted, of which exp makes a relative error.
    # Each gradient is made of sums over all dims, with two weights at most, and a few products.
    # Twice that, for terms of higher order.
    width = q.shape[1]
    relative = 2 * SINGLE * (2 * (width + 8) * (scale * q1 @ k1.T).max()
                             + 2 * (len(q) + len(k) + 2 * width) + 16)
    changed, changed1 = weights * change, weights * change1
    return {"grad_q": (scale * changed @ k, relative * scale * changed1 @ k1),
            "grad_k": (scale * changed.T @ q, relative * scale * changed1.T @ q1),
            "grad_v": (weights.T @ grad_o, relative * weights.T @ g1)}


class Gradients(unittest.TestCase):
    SPEC = {"attnc": 1, "name": "attention", "dims": {"d": 8, "e": 8},
            "params": {"scale": "f32 = 0.5"},
            "inputs": {"q": "f32[i, d]", "k": "f32[j, d]", "v": "f32[j, e]"},
            "body": ["s[i,j] = sum(d, q * k) * scale", "o[i,e] = sum(j, softmax(j, s) * v)"],
            "outputs": {"o": "f32"}, "grad": ["q", "k", "v"]}

    def setUp(self):
        self.program = attnc.compile(self.SPEC, target="cpu")

    def arrays(self):
        import numpy
        draw = numpy.random.default_rng(0)
        return {name: draw.standard_normal((rows, 8), dtype="float32")
                for name, rows in {"q": 5, "k": 7, "v": 7, "grad_o": 5}.items()}

    def run_both(self, program, params):
        arrays = self.arrays()
        known = {**arrays, **program(q=arrays["q"], k=arrays["k"], v=arrays["v"], **params)}
        backward = program.backward
        return backward.launch({t.name: known[t.name] for t in backward.inputs}, params=params)

    def expect_gradients(self, program, params, scale):
        results = self.run_both(program, params)
        self.assertEqual(list(results), ["grad_q", "grad_k", "grad_v"])
        for name, (value, bound) in gradients(scale=scale, **self.arrays()).items():
            self.assertEqual(results[name].shape, value.shape)
            self.assertTrue((abs(results[name] - value) <= bound).all(), name)

    def test_backward_computes_them(self):
        self.expect_gradients(self.program, {}, 0.5)

    def test_params_reach_both(self):
        self.expect_gradients(self.program, {"scale": 0.75}, 0.75)

    def test_outputs_may_be_given(self):
        import numpy
        arrays, backward = self.arrays(), self.program.backward
        known = {**arrays, **self.program(q=arrays["q"], k=arrays["k"], v=arrays["v"])}
        given = numpy.empty((5, 8), "float32")
        results = backward(out={"grad_q": given},
                           **{t.name: known[t.name] for t in backward.inputs})
        self.assertIs(results["grad_q"], given)
        value, bound = gradients(scale=0.5, **arrays)["grad_q"]
        self.assertTrue((abs(given - value) <= bound).all())

    def test_backward_takes_the_gradient_of_each_output(self):
        import numpy
        spec = {"attnc": 1, "name": "two", "inputs": {"x": "f32[i]", "w": "f32[i]"},
                "body": ["y = x * x", "z = w * w"], "outputs": {"y": "f32", "z": "f32"}}
        x, one = numpy.array([1, 2, 3], "float32"), numpy.ones(3, "float32")
        for asked, gradient in (["x"], "grad_x"), (["w"], "grad_w"):
            backward = attnc.compile({**spec, "grad": asked}, target="cpu").backward
            taken = {t.name: x for t in backward.inputs if t.name in "xw"}
            result = backward(grad_y=one, grad_z=one, **taken)
            self.assertEqual(result.tolist(), [2, 4, 6], gradient)

    def test_entry_points_are_listed_and_are_the_same_each_time(self):
        self.assertEqual(self.program.entry_names, ("forward", "backward"))
        self.assertIs(self.program.entry("forward"), self.program)
        self.assertIs(self.program.entry("backward"), self.program.backward)
        self.assertEqual(self.program.backward.entry_names, ("forward",))
        self.assertEqual([t.name for t in self.program.outputs if t.name.startswith("saved_")],
                         [t.name for t in self.program.backward.inputs
                          if t.name.startswith("saved_")])

    def test_an_unknown_entry_point_is_named_with_those_that_there_are(self):
        with self.assertRaises(attnc.InvalidArgument) as raised:
            self.program.entry("sideways")
        self.assertEqual(raised.exception.message,
                         "the program attention has no entry point 'sideways'")
        self.assertEqual(raised.exception.remedy, "its entry points are: forward, backward")

    def test_a_program_without_them_has_no_backward(self):
        program = attnc.compile(SPECS / "causal.json", target="cpu", set=F32)
        self.assertEqual(program.entry_names, ("forward",))
        with self.assertRaises(attnc.InvalidArgument) as raised:
            _ = program.backward
        self.assertIn("`grad`", raised.exception.remedy)

    def test_a_file_holds_both(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "attention.program"
            self.program.save(path)
            loaded = attnc.load(path)
            self.program.backward.save(path)
            alone = attnc.load(path)
        self.assertEqual(repr(loaded.backward), repr(self.program.backward))
        self.assertEqual(repr(alone), repr(self.program.backward))
        self.expect_gradients(loaded, {}, 0.5)

    def test_one_lives_without_the_program_and_the_jit_it_is_from(self):
        jit = attnc.Jit()
        program = jit.compile(self.SPEC, target="cpu")
        self.assertIs(jit.compile(self.SPEC, target="cpu").backward, program.backward)
        arrays = self.arrays()
        known = {**arrays, **program(q=arrays["q"], k=arrays["k"], v=arrays["v"])}
        backward = program.backward
        del program, jit
        results = backward.launch({t.name: known[t.name] for t in backward.inputs})
        value, bound = gradients(scale=0.5, **arrays)["grad_k"]
        self.assertTrue((abs(results["grad_k"] - value) <= bound).all())

    def test_a_jit_tells_specs_apart_by_what_they_differentiate(self):
        jit = attnc.Jit()
        for asked in (["q"], ["k"], ["q", "k", "v"], []):
            program = jit.compile({**self.SPEC, "grad": asked}, target="cpu")
            outputs = [t.name for t in program.backward.outputs] if asked else []
            self.assertEqual(outputs, ["grad_" + name for name in asked])

    def test_the_example_of_the_docs_runs(self):
        page = SPECS.parent / "docs" / "python.md"
        blocks = page.read_text(encoding="utf-8").split("```python\n")[1:]
        examples = [block.partition("```")[0] for block in blocks]
        (example,) = (text for text in examples if '"grad"' in text)
        exec(compile(example, str(page), "exec"), {})  # pylint: disable=exec-used


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "causal.program"
        self.program = attnc.compile(SPECS / "causal.json", target="cpu", set=F32)
        self.program.save(self.path)

    def test_what_is_saved_computes_the_same(self):
        q, k, v = (random_array((1, 2, 9, 8), seed) for seed in (1, 2, 3))
        loaded = attnc.load(self.path)
        self.assertEqual(loaded.origin, "file")
        self.assertEqual(repr(loaded), repr(self.program))
        outputs = [Array((1, 2, 9, 8)) for _ in range(2)]
        for program, out in zip((self.program, loaded), outputs):
            program(q=q, k=k, v=v, out=out)
        self.assertEqual(outputs[0].values, outputs[1].values)

    def test_what_is_no_program_raises(self):
        with self.assertRaises(attnc.Unavailable):
            attnc.load(self.path.with_name("nothing"))
        for bytes_ in (b"", b"text", self.path.read_bytes()[:-1]):
            self.path.write_bytes(bytes_)
            with self.assertRaises(attnc.InvalidArgument):
                attnc.load(self.path)

    def test_the_cache_on_disk_is_used_only_if_allowed(self):
        spec = SPECS / "lse.json"
        attnc.compile(spec, target="cpu", set=F32)
        self.assertEqual(attnc.compile(spec, target="cpu", set=F32).origin, "disk")
        self.assertEqual(attnc.compile(spec, target="cpu", set=F32, cache=False).origin,
                         "compiler")


class Jit(unittest.TestCase):
    def test_the_same_spec_and_options_give_the_same_program(self):
        jit = attnc.Jit()
        spec = (SPECS / "causal.json").read_text()
        first = jit.compile(spec, target="cpu", set=F32)
        self.assertIs(jit.compile(spec, target="cpu", set=F32), first)
        self.assertIsNot(jit.compile(spec, target="cpu", set={**F32, "d": 16, "e": 16}), first)
        self.assertEqual(jit.stats(), {"programs": 2, "hits": 1, "waits": 0, "misses": 2,
                                       "dropped": 0})

    def test_what_a_file_holds_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "spec.json"
            jit = attnc.Jit()
            text = (SPECS / "causal.json").read_text()
            path.write_text(text)
            first = jit.compile(path, target="cpu", set=F32)
            self.assertIs(jit.compile(path, target="cpu", set=F32), first)
            path.write_text(text.replace('"causal"', '"other"', 1))
            self.assertEqual(jit.compile(path, target="cpu", set=F32).name, "other")

    def test_errors_of_specs_are_remembered(self):
        jit = attnc.Jit()
        for _ in range(2):
            with self.assertRaises(attnc.SpecError):
                jit.compile("{}", target="cpu")
        self.assertEqual(jit.stats()["hits"], 1)

    def test_it_keeps_as_many_as_it_may(self):
        jit = attnc.Jit(capacity=1)
        for name in ("causal", "full", "causal"):
            jit.compile(SPECS / f"{name}.json", target="cpu", set=F32)
        self.assertEqual(jit.stats()["misses"], 3)
        self.assertEqual(jit.stats()["programs"], 1)
        jit.clear()
        self.assertEqual(jit.stats()["programs"], 0)


class Errors(unittest.TestCase):
    def test_specs_with_errors_raise_with_their_places(self):
        with self.assertRaises(attnc.SpecError) as raised:
            attnc.compile('{\n  "attnc": 1,\n  "nam": "x" }', target="cpu")
        self.assertRegex(raised.exception.message, r"<text>:3:3: error: ")

    def test_errors_carry_a_remedy(self):
        with self.assertRaises(attnc.InvalidArgument) as raised:
            attnc.compile(SPECS / "causal.json", target="sm_91")
        self.assertIn("did you mean", raised.exception.remedy)
        self.assertIsInstance(raised.exception, ValueError)

    def test_missing_files_and_schedules_raise(self):
        with self.assertRaises(attnc.Unavailable):
            attnc.compile("/nowhere.json", target="cpu")
        with self.assertRaises(attnc.InvalidArgument):
            attnc.compile(SPECS / "full.json", target="cpu", schedule="{")


class ForGpu(unittest.TestCase):
    def setUp(self):
        try:
            self.program = attnc.compile(SPECS / "causal.json", target="sm_90a", keep_texts=True,
                                         cache=False)
        except attnc.Unavailable as error:
            self.skipTest(error.message)

    def test_code_is_made_without_a_gpu(self):
        kernel = self.program.kernels[0]
        self.assertEqual(self.program.text("cubin")[:4], b"\177ELF")
        self.assertIn(kernel.name, self.program.text("cuda"))
        self.assertIn(".target sm_90a", self.program.text("ptx"))
        self.assertGreater(kernel.registers, 0)
        declared = json.loads(self.program.text("manifest"))["kernels"][0]
        self.assertEqual(declared["form"], kernel.form)
        self.assertEqual(declared["schedule"], kernel.schedule)
        self.assertEqual(declared.get("notes", ""), kernel.notes)
        self.assertEqual(kernel.spill_store_bytes + kernel.spill_load_bytes, 0)
        self.assertGreater(self.program.nvrtc_seconds, 0)

    def test_a_schedule_changes_the_code(self):
        other = attnc.compile(SPECS / "causal.json", target="sm_80", schedule={"stream_tile": 32})
        self.assertIn("stream_tile = 32", other.kernels[0].schedule)
        with self.assertRaises(attnc.InvalidArgument):
            attnc.compile(SPECS / "causal.json", target="sm_80", schedule={"no_such_key": 1})

    def test_host_memory_is_refused(self):
        with self.assertRaises(attnc.InvalidArgument) as raised:
            self.program(**{name: random_array((1, 1, 4, 64), 1) for name in "qkv"},
                         out=Array((1, 1, 4, 64)))
        self.assertIn("q is in host memory", str(raised.exception))

    def test_loading_without_a_gpu_says_so(self):
        try:
            self.program.load()
        except attnc.Unavailable as error:
            self.assertTrue(error.remedy)
        else:
            self.skipTest("there is a GPU")

    @unittest.skipUnless(has("torch"), "PyTorch is not there")
    def test_torch_tensors_are_taken_and_made(self):
        import torch
        if not torch.cuda.is_available():
            self.skipTest("PyTorch has no GPU")
        program = attnc.compile(SPECS / "causal.json", target="sm_80", set={"T": "f16"})
        q, k, v = (torch.randn(2, 3, 129, 64, device="cuda", dtype=torch.float16)
                   for _ in range(3))
        with torch.cuda.stream(torch.cuda.Stream()):
            o = program(q=q, k=k, v=v)
            torch.cuda.current_stream().synchronize()
        reference = torch.nn.functional.scaled_dot_product_attention(
            q.double(), k.double(), v.double(), is_causal=True)
        # One rounding of the result, one of each weight; twice that.
        bound = 4 * 2.0 ** -11 * v.double().abs().max().item()
        self.assertLess((o.double() - reference).abs().max().item(), bound)


class Process(unittest.TestCase):
    """What happens at the edges of a process, each in one of its own."""

    def run_python(self, code):
        run = subprocess.run([sys.executable, "-c", code, str(SPECS / "causal.json")],
                             capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_ends_well_with_programs_alive(self):
        self.run_python("import attnc, sys\n"
                        "kept = attnc.compile(sys.argv[1], target='cpu')\n"
                        "kept.cycle = kept\n"
                        "kept.load()\n")

    def test_the_library_can_be_unloaded(self):
        # LLVM keeps things by thread, and they keep the library until the thread ends.
        self.run_python("import attnc, os, sys, threading, time, _ctypes\n"
                        "work = lambda: attnc.compile(sys.argv[1], target='cpu').load() and None\n"
                        "thread = threading.Thread(target=work)\n"
                        "thread.start()\n"
                        "thread.join()\n"
                        "while len(os.listdir('/proc/self/task')) > 1: time.sleep(0.001)\n"
                        "_ctypes.dlclose(attnc._abi.library()._handle)\n"
                        "assert 'libattnc' not in open('/proc/self/maps').read()\n")

    def test_lives_beside_another_llvm(self):
        # Its symbols are for all to see, as those of a careless library would be.
        self.run_python("import ctypes, sys\n"
                        f"ctypes.CDLL({str(LLVM)!r}, mode=ctypes.RTLD_GLOBAL)\n"
                        "import attnc\n"
                        "attnc.compile(sys.argv[1], target='cpu').load()\n")


if __name__ == "__main__":
    unittest.main()
