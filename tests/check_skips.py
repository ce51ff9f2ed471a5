#!/usr/bin/env python3
"""A test that skips itself tests nothing, and a summary of many tests hides it. Fails where a test
of a build folder may do so without a reason, or where those in Python lack what they need.

usage: check_skips.py CTEST BUILD_FOLDER
"""
import importlib.util
import json
import subprocess
import sys

# What each one needs, that ./dev setup does not install.
MAY_SKIP = {"e2e_gpu": "a GPU", "bench_cells": "NVRTC", "bench_cliffs_counted": "NVRTC", "programs_nvrtc": "NVRTC",
            "service_compile_abuse": "NVRTC", "service_demo": "NVRTC",
            "python_arrays": "PyTorch and JAX from PyPI",
            "python_torch": "PyTorch from PyPI", "python_record": "PyTorch from PyPI",
            "python_native": "PyTorch from PyPI",
            "python_expressions": "PyTorch from PyPI", "python_expressions_errors": "PyTorch from PyPI",
            "python_published": "PyTorch from PyPI",
            "python_traced": "PyTorch from PyPI",
            "explorer_page": "Playwright from PyPI", "docs_site": "mkdocs from PyPI", "docs_tutorial": "PyTorch from PyPI",
            "python_docs": "PyTorch from PyPI", "python_huggingface": "transformers from PyPI",
            "python_stubs": "mypy from PyPI", "python_wheel": "auditwheel from PyPI"}
SKIPPING = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION", "DISABLED")


def main(ctest, folder):
    listed = subprocess.run([ctest, "--show-only=json-v1", "--test-dir", folder],
                            capture_output=True, text=True, check=True)
    tests = json.loads(listed.stdout)["tests"]
    skipping = {test["name"] for test in tests
                if any(p["name"] in SKIPPING and p["value"] for p in test.get("properties", []))}
    wrong = [f"{name} may skip itself: give it what it needs in ./dev setup, or say here what it "
             "needs that cannot be installed" for name in sorted(skipping - MAY_SKIP.keys())]
    if importlib.util.find_spec("numpy") is None:
        wrong.append(f"CMake has chosen {sys.executable}, which has no NumPy")
    print("\n".join(wrong) or f"{len(tests)} tests, of which {len(skipping)} may skip themselves")
    return 1 if wrong or not tests else 0


sys.exit(main(*sys.argv[1:]))
