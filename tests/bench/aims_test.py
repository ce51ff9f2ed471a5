#!/usr/bin/env python3
"""Which cells have an aim, and how much of it they reach.

usage: aims_test.py
"""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import aims  # noqa: E402


def attention(name, tflops, **more):
    return {"name": name, "aim": None, "against": None, "share": None,
            "candidates": {"attnc": {"tflops": tflops}}, **more}


def reached(*cells):
    return {row[0]: row[-1] for row in aims.aims_of({"kind": "x", "machine": {}, "cells": list(cells)})}


class Aims(unittest.TestCase):
    def test_times_are_to_be_short(self):
        self.assertEqual(reached({"d": 64, "n": 4096, "causal": True, "ms": 2.0, "aim_ms": 1.0}),
                         {"n4096 d64 causal": 0.5})

    def test_throughputs_are_to_be_high(self):
        self.assertEqual(reached(attention("x", 300, aim=400)), {"x": 0.75})

    def test_a_share_of_another_cell(self):
        self.assertEqual(reached(attention("x", 300, against="y", share=0.9), attention("y", 400)),
                         {"x": 300 / 360})

    def test_a_cell_that_has_nothing_to_be_compared_with_misses(self):
        self.assertEqual(reached(attention("x", 300, against="y", share=0.9)), {"x": 0})

    def test_a_cell_that_failed_misses(self):
        self.assertEqual(reached({"name": "x", "aim": 400, "candidates": {"attnc": {"error": "?"}}}), {"x": 0})

    def test_specs_of_the_library_have_their_roofline(self):
        self.assertEqual(reached({"group": "library", "name": "x", "fraction": 0.4},
                                 {"group": "tests", "name": "y", "fraction": 0.1}), {"x": 0.8})

    def test_specs_of_the_library_are_to_be_as_fast_as_torch_compile(self):
        def cell(*peers):
            return {"group": "library", "name": "x", "fraction": 0.6, "ms": 2.0, "peers": list(peers)}
        compiled = {"name": "torch.compile", "ms": 1.0}
        self.assertEqual(reached(cell(compiled)), {"x": 0.5})
        self.assertEqual(reached(cell({**compiled, "ms": 3.0})), {"x": 1.2})
        self.assertEqual(reached(cell({**compiled, "error": "its results differ by 2"})), {"x": 1.2})
        self.assertEqual(reached(cell({**compiled, "name": "cudnn"})), {"x": 1.2})

    def test_cells_without_an_aim_are_left_out(self):
        self.assertEqual(reached({"name": "x", "ms": 2.0, "aim_ms": None}, attention("y", 1)), {})


class Command(unittest.TestCase):
    def run_with(self, results, *arguments):
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            for name, report in results.items():
                (pathlib.Path(folder) / f"{name}-h100.json").write_text(json.dumps(report))
            with mock.patch.object(sys, "argv", ["aims.py", "--results", folder, *arguments]):
                return aims.main(), out.getvalue()

    def test_the_worst_comes_first(self):
        cells = [{"d": 64, "ms": 2.0, "aim_ms": 1.0}, {"d": 128, "ms": 4.0, "aim_ms": 1.0},
                 {"d": 256, "ms": 1.0, "aim_ms": 1.0}]
        code, text = self.run_with({"halves": {"attention": cells}}, "halves")
        self.assertEqual(code, 1)
        self.assertLess(text.index("d128"), text.index("d64"))
        self.assertIn("1 of 3 aims are reached", text)

    def test_all_are_reached(self):
        code, _ = self.run_with({"halves": {"attention": [{"d": 64, "ms": 1.0, "aim_ms": 1.0}]}}, "halves")
        self.assertEqual(code, 0)

    def test_every_committed_result_can_be_read(self):
        results = pathlib.Path(aims.__file__).parent / "results"
        for name in aims.BENCHMARKS:
            report = json.loads((results / f"{name}-h100.json").read_text(encoding="utf-8"))
            self.assertTrue(list(aims.aims_of(report)), name)


if __name__ == "__main__":
    unittest.main()
