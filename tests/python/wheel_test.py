"""The wheel as people install it: built by ./dev wheel, installed where nothing else is.

usage: wheel_test.py SOURCE BUILD
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv
import zipfile

source, build = map(pathlib.Path, sys.argv[1:])
ENVIRONMENT = {key: value for key, value in os.environ.items()
               if key not in ("ATTNC_LIBRARY", "PYTHONPATH")}


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          env=ENVIRONMENT, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def expect(condition, what):
    assert condition, what


with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    run("bash", source / "dev", "wheel", "--into", work, cwd=source)
    wheel, = work.glob("attnc-*.whl")
    tag = re.fullmatch(r"attnc-[\d.]+-py3-none-manylinux_2_(\d+)_x86_64\.whl", wheel.name)
    expect(tag, f"the wheel's name is {wheel.name}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for name in ("attnc/py.typed", "attnc/__init__.pyi", "attnc/torch/__init__.pyi",
                 "attnc/bin/attnc", "attnc/specs/causal.json", "attnc/lib/libattnc_torch.so"):
        expect(name in names, f"the wheel lacks {name}")
    expect(not any("__pycache__" in name for name in names), "the wheel has compiled Python files")
    venv.create(work / "env", with_pip=True)
    python = work / "env/bin/python"
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    version = run(work / "env/bin/attnc", "--version", cwd=work)
    expect(version.startswith("attnc "), version)
    checked = run(python, "-m", "attnc", "check", "causal", "--target", "cpu", cwd=work)
    expect("ok" in checked, checked)
    said = run(python, "-c", "import sys, attnc; program = attnc.compile('causal', 'cpu')\n"
               "print(program.name, attnc.version(), len(attnc.library()), 'torch' in sys.modules)",
               cwd=work)
    expect(re.fullmatch(r"causal [\d.]+ \d\d False\n", said), said)
    packages, = (work / "env/lib").glob("python*/site-packages")
    said = run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(packages)!r})\n"
               "import torch, attnc.torch; x = torch.ones(1, 1, 2, 8)\n"
               "causal = attnc.torch.op('causal')\n"
               "print(attnc.torch.native, [causal(x, x, x).sum().item() for _ in range(2)])",
               cwd=work)
    expect(said == "True [16.0, 16.0]\n", said)
print(f"{wheel.name}: ok")
