"""Runs a test with the Python that has what it needs, or skips (exit code 4).

usage: with_environment.py PYTHON ARGUMENT...
"""
import os
import subprocess
import sys

python, *arguments = sys.argv[1:]
NEEDED = "import torch, transformers, mypy, auditwheel"
if not os.path.exists(python) or subprocess.run([python, "-c", NEEDED],
                                                capture_output=True).returncode:
    print(f"skipped: {python} is not there or lacks packages of tests/python/requirements.txt; "
          "./dev test installs them from PyPI")
    sys.exit(4)
os.execv(python, [python, *arguments])
