"""Writes a C++ source that names a build: build_id.py OUT TEXT FILE...

The name is a hash of the files and of TEXT, which says with what they are compiled. It depends on
no path and no time, so the same sources give the same name everywhere.
"""
import hashlib
import pathlib
import sys

out, text, *files = sys.argv[1:]
root = pathlib.Path(__file__).resolve().parent.parent
digest = hashlib.sha256(text.encode())
for name in sorted(str(pathlib.Path(f).resolve().relative_to(root)) for f in files):
    content = (root / name).read_bytes()
    digest.update(f"\n{name} {len(content)}\n".encode())
    digest.update(content)
with open(out, "w", encoding="utf-8") as f:
    f.write('#include "compiler/jit/build_id.h"\n\n'
            f'std::string_view attnc::buildId() {{ return "{digest.hexdigest()[:16]}"; }}\n')
