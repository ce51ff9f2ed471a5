"""Makes libattnc.a: static_library.py LINKER OBJCOPY AR HEADER OUT OBJECT|ARCHIVE|FLAG...

One object that holds all of attnc and of the LLVM that it uses. Only the functions of the header
can be seen from outside, so that another LLVM in the program does not meet this one. Flags, such as
-lm, are for whoever links the archive.
"""
import pathlib
import re
import subprocess
import sys


def main(linker, objcopy, archiver, header, out, *words):
    text = pathlib.Path(header).read_text(encoding="utf-8")
    functions = re.findall(r"^ATTNC_API [^;]*?(attnc_\w+)\(", text, re.M)
    out = pathlib.Path(out)
    whole = out.with_suffix(".o")
    # What these functions do not need is left out. Groups are dissolved: a linker that met the same
    # inline function in two of them would drop ours, though its name is no longer the same.
    subprocess.run([linker, "-r", "--gc-sections", "--force-group-allocation", "--strip-debug",
                    *(f"--undefined={name}" for name in functions), "-o", whole,
                    *(word for word in words if word.endswith((".o", ".a")))], check=True)
    subprocess.run([objcopy, *(f"--keep-global-symbol={name}" for name in functions), whole],
                   check=True)
    out.unlink(missing_ok=True)
    subprocess.run([archiver, "rcs", out, whole], check=True)
    whole.unlink()


main(*sys.argv[1:])
