#!/usr/bin/env python3
"""The sizes at which bench/cliffs.py times specs, and the least times that it compares with.

usage: cliffs_test.py
"""
import json
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import cliffs  # noqa: E402
import report_cliffs  # noqa: E402
from cliff import inputs, peers, roofline, shapes, specs  # noqa: E402

LAUNCH_MS = 1e3 * roofline.LAUNCH_S


def attention(**more):
    return {"dims": {"d": 64, "e": 64}, "types": {"T": "bf16"},
            "inputs": {"q": "T[b, h, i, d]", "k": "T[b, h, j, d]", "v": "T[b, h, j, e]"},
            "body": [], "outputs": {"o": "T"}, **more}


def tensor(name, dims, dtype="bf16"):
    return {"name": name, "dtype": dtype, "dims": dims.split()}


def kernel(**more):
    """What explain says of plain attention, with counts of nothing."""
    work = {"products_formula": "2·b·h·i·d·j + 2·b·h·i·j·e", "product_flops": 1, "special": 0, "other": 0,
            "visited_share": 1, "bytes_read": 0, "bytes_written": 0, **more.pop("work", {})}
    return {"streamed": [tensor("k", "b h j d"), tensor("v", "b h j e")],
            "resident": [tensor("q", "b h i d")], "inner": ["d", "e"], "row": ["i"], "stream": ["j"],
            "derivation": [], "skips_tiles": True, "work": work, **more}


SHAPE = {"b": 4, "h": 16, "i": 4096, "j": 4096}
FLOPS = 4 * 4 * 16 * 4096 ** 2 * 64


def bound(*kernels, name="attention", bytes_moved=0):
    return roofline.roofline({"kernels": list(kernels)}, attention(), name, SHAPE, bytes_moved)


class Shapes(unittest.TestCase):
    def test_every_spec_has_a_shape_that_fits(self):
        for spec in specs.collect():
            with self.subTest(spec.name):
                content = shapes.bindable(spec.content, spec.name)
                tensors = [shapes.tensor_type(content, text) for text in content["inputs"].values()]
                tensors = [(kind, [dim + "_rows" if dim in shapes.ragged_dims(content) else dim
                                   for dim in dims]) for kind, dims in tensors]
                self.assertTrue(shapes.shapes_of(content, spec.name, tensors))

    def test_every_size_of_the_table_is_that_of_a_spec(self):
        dims = {spec.name: shapes.dynamic_dims(spec.content) +
                [dim for dim, given in (spec.content.get("dims") or {}).items() if given is None]
                for spec in specs.collect()}
        for name, sizes in shapes.SIZES.items():
            self.assertLessEqual(set(sizes), set(dims[name]), name)

    def test_dims_are_sized_by_what_they_are(self):
        content = attention(reference={"shape": {"b": 1, "h": 2, "i": 7, "j": 9, "x": 5}})
        content["inputs"]["y"] = "f32[x, hk]"
        self.assertEqual(shapes.shape_of(content, "", 4096), {**SHAPE, "x": 5, "hk": 4})

    def test_alone_a_sequence_is_longer(self):
        content = {"inputs": {"q": "f32[i, d]"}, "dims": {"d": 4}}
        self.assertEqual(shapes.shape_of(content, "", 1024), {"i": 4096})

    def test_packed_rows_are_those_of_all_sequences(self):
        content = {"inputs": {"x": "f32[i, h]", "cu": "i32[n]"},
                   "dims": {"b": "size(n) - 1", "i": {"ragged": "cu", "over": "b"}}}
        shape = shapes.shape_of(content, "", 1024)
        self.assertEqual(shape, {"i_rows": 4096, "h": 16, "n": 5})
        self.assertEqual(shapes.Extents(content, shape).size("i"), 1024)

    def test_computed_extents_use_lets(self):
        content = {"inputs": {"x": "f32[j]"}, "let": {"l": "size(j) // size(m)"},
                   "dims": {"m": 8, "t": "size(j) - l * (size(m) - 1)"}}
        self.assertEqual(shapes.Extents(content, {"j": 83}).size("t"), 83 - 10 * 7)

    def test_what_tensors_do_not_carry_is_computed_or_stated(self):
        content = attention(require=["size(n) == size(i)"])
        content["dims"] = {"d": 64, "e": 64, "n": None, "m": None}
        content["reference"] = {"shape": {"m": 12}}
        self.assertEqual(shapes.bindable(content, "")["dims"],
                         {"d": 64, "e": 64, "n": "size(i)", "m": 12})

    def test_sequences_are_shortened_until_tensors_fit(self):
        tensors = [("f32", ("b", "h", "i", "j"))]
        shape = shapes.shapes_of(attention(), "", tensors)[0]
        self.assertEqual(shape["i"], 4096)
        shape = shapes.shapes_of(attention(), "", tensors * 2)[0]
        self.assertEqual(shape["i"], 4096)
        shape = shapes.shapes_of(attention(), "", tensors * 3)[0]
        self.assertEqual(shape["i"], 2048)

    def test_a_requirement_that_fails_is_said(self):
        with self.assertRaisesRegex(shapes.Unsized, "size"):
            shapes.shape_of(attention(require=["size(i) < size(j)"]), "", 4096)


class Roofline(unittest.TestCase):
    def test_products_of_16_bits(self):
        found = bound(kernel())
        self.assertAlmostEqual(found["roofline_ms"], 1e3 * FLOPS / roofline.HALF + LAUNCH_MS)
        self.assertEqual(found["limit"], "products, 16 bits")

    def test_products_in_f32_are_three_of_halves(self):
        streamed = [tensor("k", "b h j d", "f32"), tensor("v", "b h j e", "f32")]
        found = bound(kernel(streamed=streamed))
        self.assertAlmostEqual(found["roofline_ms"], 3e3 * FLOPS / roofline.HALF + LAUNCH_MS)

    def test_halves_of_f32_are_f32(self):
        streamed = [{**tensor(name, dims, "f16"), "why": "halves of k and their scales are what products take"}
                    for name, dims in (("k_high", "b h j d"), ("v_high", "b h j e"))]
        found = bound(kernel(streamed=streamed))
        self.assertAlmostEqual(found["roofline_ms"], 3e3 * FLOPS / roofline.HALF + LAUNCH_MS)

    def test_products_of_both_types_share_the_tensor_cores(self):
        streamed = [tensor("k", "b h j d"), tensor("v", "b h j e", "f32")]
        found = bound(kernel(streamed=streamed))
        self.assertAlmostEqual(found["roofline_ms"], 2e3 * FLOPS / roofline.HALF + LAUNCH_MS)

    def test_a_vector_that_scales_does_not_make_a_product_f32(self):
        streamed = kernel()["streamed"] + [tensor("gain", "h d", "f32")]
        self.assertEqual(bound(kernel(streamed=streamed))["limit"], "products, 16 bits")

    def test_a_mask_leaves_its_share(self):
        found = bound(kernel(work={"visited_share": 0.5}))
        self.assertAlmostEqual(found["roofline_ms"], 500 * FLOPS / roofline.HALF + LAUNCH_MS)

    def test_a_bounds_unknown_is_marked_unless_its_share_is_known(self):
        unknown = kernel(work={"visited_share": None, "product_flops": FLOPS})
        self.assertTrue(bound(unknown)["bounds_unknown"])
        known = bound(unknown, name="documents")
        self.assertFalse(known["bounds_unknown"])
        self.assertAlmostEqual(known["roofline_ms"], 125 * FLOPS / roofline.HALF + LAUNCH_MS)

    def test_the_longest_bound_counts(self):
        found = bound(kernel(work={"special": roofline.EXPONENTIALS,
                                   "other": 2 * roofline.ARITHMETIC, "product_flops": FLOPS}))
        self.assertEqual(found["limit"], "arithmetic")
        self.assertAlmostEqual(found["roofline_ms"], 2e3 + LAUNCH_MS)
        self.assertEqual(bound(kernel(), bytes_moved=roofline.MEMORY)["limit"], "memory")

    def test_little_work_takes_a_launch(self):
        found = bound(kernel(work={"products_formula": "", "product_flops": 0}))
        self.assertEqual((found["roofline_ms"], found["limit"]), (LAUNCH_MS, "launch"))

    def test_what_is_computed_again_counts_in_the_program_alone(self):
        again = kernel(work={"products_formula": "2·b·h·i·d·j"}, derivation=[
            {"rule": "demoted", "fold": "sum(d, q * k)", "details": {"type": "f32[b, h, i, j]"}},
            {"rule": "recomputed", "fold": "sum(d, q * k)"}])
        found = bound(kernel(), again)
        self.assertAlmostEqual(found["roofline_ms"], 1e3 * FLOPS / roofline.HALF + LAUNCH_MS)
        self.assertAlmostEqual(found["program_ms"], 1.5e3 * FLOPS / roofline.HALF + LAUNCH_MS)


class Inputs(unittest.TestCase):
    def test_subscripts_are_found_with_the_axis_that_they_select_along(self):
        content = attention(body=["s = sum(d, q * k[b, h//2, at[b, j // 2] + 1, d])"])
        self.assertEqual(inputs.selected_dim(content, "at"), "j")
        self.assertIsNone(inputs.selected_dim(content, "q"))

    def test_params_without_a_default_have_a_value(self):
        content = {"params": {"a": "f32 >= 0 <= 1", "b": "f32 > 0 = 2", "n": "i64", "c": "f32 >= 0 = 1"}}
        self.assertEqual(inputs.params_of(content), {"a": 0.5, "n": 1})


class Peers(unittest.TestCase):
    """What a worker answers, and what becomes of it in the record."""
    REPLIES = {"right": {"ms": 2.0, "difference": 0.001}, "wrong": {"ms": 1.0, "difference": 0.5},
               "stopped": {"timed_out_s": 70}, "large": {"error": "needs more memory than the GPU has"}}

    def peer_of(self, reply, content=None, timed=None, peer=peers.COMPILED):
        record = {"group": "library", "name": "x", "shape": SHAPE, "timed": timed or {"ms": 3.0}}
        worker = types.SimpleNamespace(ask=lambda job, limit: dict(reply))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "library-x.json").write_text(json.dumps(content or attention(outputs={})))
            return cliffs.peer_of(record, peer, path, types.SimpleNamespace(spec_limit=10), worker)

    def test_one_with_other_results_does_not_count(self):
        found = {name: self.peer_of(reply) for name, reply in self.REPLIES.items()}
        self.assertEqual(found["right"], {"name": "torch.compile", "ms": 2.0, "difference": 0.001})
        self.assertEqual(found["wrong"]["error"], "its results differ by 0.5")
        self.assertEqual(found["stopped"]["error"], "not compiled and timed in 70 s")
        self.assertEqual(peers.best({"peers": list(found.values())}), found["right"])

    def test_beside_a_program_that_was_stopped_none_counts(self):
        found = self.peer_of({"ms": 2.0}, timed={"timed_out_s": 10})
        self.assertEqual(found["error"], "not compared, since attnc was stopped")

    def test_what_pytorch_cannot_say_is_not_timed(self):
        content = attention(body=["o = rand(1, i)"], outputs={"o": "f32"})
        found = self.peer_of(None, content)
        self.assertEqual(found["error"], "cannot say it: random numbers that depend on indices alone")

    def test_the_fastest_counts(self):
        record = {"peers": [{"name": "torch.compile", "ms": 2.0}, {"name": "cudnn", "ms": 1.0}]}
        self.assertEqual(peers.best(record)["name"], "cudnn")
        self.assertEqual(peers.compiled(record)["name"], "torch.compile")
        self.assertIsNone(peers.best({}))

    def test_those_chosen_by_hand_are_of_the_library(self):
        self.assertEqual(peers.names("library", "causal"), ["torch.compile", "cudnn"])
        self.assertEqual(peers.names("library", "bias"), ["torch.compile"])
        self.assertEqual(peers.names("found", "causal"), ["torch.compile"])

    def test_the_report_says_which_specs_are_behind(self):
        cells = [{"name": "x", "ms": 2.0, "peers": [{"name": "torch.compile", "ms": 1.0}]},
                 {"name": "y", "ms": 2.0, "peers": [{"name": "torch.compile", "ms": 3.0}]},
                 {"name": "z", "ms": 2.0, "peers": [{"name": "torch.compile", "error": "no"}]}]
        said = "".join(report_cliffs.beside(cells))
        self.assertIn("Of 2 specs of the library with a peer, 1 are behind torch.compile (x)", said)
        self.assertIn("- z: torch.compile, no", said)
        self.assertEqual(report_cliffs.peer(cells[0]), "torch.compile 1.00, faster")
        self.assertEqual(report_cliffs.beside([{"name": "x", "ms": 2.0}]), [])


class Gate(unittest.TestCase):
    RECORDS = [{"group": "library", "name": "good", "fraction": 0.6},
               {"group": "library", "name": "slow", "fraction": 0.4},
               {"group": "library", "name": "broken", "error": "no"},
               {"group": "tests", "name": "other", "fraction": 0.1}]

    def test_the_library_has_to_reach_the_aim(self):
        self.assertEqual(cliffs.below(self.RECORDS, 0.5), ["slow", "broken"])

    def test_the_library_is_to_be_as_fast_as_torch_compile(self):
        records = [{"group": group, "name": group, "ms": 2.0, "peers": [{"name": "torch.compile", "ms": 1.0}]}
                   for group in ("library", "tests")]
        self.assertEqual(cliffs.behind(records), ["library"])

    def test_several_runs_make_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cliffs.json"
            self.assertEqual(cliffs.kept(path, self.RECORDS), [])
            cells = [self.RECORDS[3], {"group": "found", "name": "x", "commit": "a"}, self.RECORDS[0]]
            path.write_text(json.dumps({"commit": "b", "cells": cells}))
            self.assertEqual(cliffs.kept(path, self.RECORDS[:2]), [{**self.RECORDS[3], "commit": "b"}, cells[1]])

    def test_groups_are_summed_up_apart(self):
        found = cliffs.distribution(self.RECORDS)
        self.assertEqual(found["library"], {"timed": 2, "median": 0.5, "worst_tenth": 0.4, "worst": 0.4,
                                            "failed": 1})
        self.assertEqual(found["tests"]["worst"], 0.1)

    def test_a_program_that_was_stopped_has_at_most_its_share_of_the_limit(self):
        record = {"forms": [], "kernels": [], "roofline_ms": 1.0, "program_ms": 2.0}
        cliffs.finish(record, {"timed_out_s": 20})
        self.assertEqual((record["ms"], record["fraction"]), (20000, 1 / 20000))

    def test_kernels_of_one_name_have_the_form_of_the_variant_that_ran(self):
        forms = [("o", "warpgroups"), ("align_q", cliffs.COPY), ("part", "portable"), ("o", "generic")]
        for names, expected in ((["o"], ["warpgroups"]), (["align_q", "o"], [cliffs.COPY, "warpgroups"]),
                                (["part", "o"], ["portable", "generic"]),
                                (["o", "Memset (Device)"], ["warpgroups", "?"])):
            kernels = [{"name": name} for name in names]
            cliffs.add_forms(kernels, forms, {"o"})
            self.assertEqual([kernel["form"] for kernel in kernels], expected)

    def test_comments_of_specs_are_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "spec.json"
            path.write_text('{"doc": "https://x", /* a */ "attnc": 1 // b\n}')
            self.assertEqual(specs.read(path), {"doc": "https://x", "attnc": 1})


if __name__ == "__main__":
    unittest.main()
