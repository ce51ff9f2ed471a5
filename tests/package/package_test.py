#!/usr/bin/env python3
"""The package as others use it, one way of using it a call.

usage: package_test.py WORK install CMAKE BUILD         the package is installed in WORK/prefix
       package_test.py WORK example CMAKE CXX [-D...]   docs/examples/outside, through find_package
       package_test.py WORK pkg-config CXX              the same through pkg-config
       package_test.py WORK headers GXX CLANGXX         each header by itself, with all warnings
       package_test.py WORK libraries NM READELF        what they show and what they need
       package_test.py WORK python                      the Python module finds its library
       package_test.py WORK deb CPACK BUILD             the Debian packages
       package_test.py WORK subdirectory CMAKE CC CXX   attnc as a part of another project
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = SOURCE / "docs/examples/outside"
# Each variant makes ones of ones, and what was asked for twice was compiled once.
RESULT = "ffpa: o = 1.000\nnystrom: o = 1.000\nelsa: o = 1.000\nelsa: o = 1.000\ncompiled 3 of 4\n"
VERSION = re.search(r"^project\(attnc VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(),
                    re.M)[1]
ABI = re.search(r"^#define ATTNC_ABI_VERSION (\d+)$",
                (SOURCE / "api/include/attnc_c.h").read_text(), re.M)[1]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    print("$", *command, f"\n{done.stdout}")
    if done.returncode:
        sys.exit(f"exits with {done.returncode}: {command[0]}")
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def attend(program):
    expect(run(program) == RESULT, "what the example prints")


def install(work, cmake, build):
    prefix = fresh(work / "prefix")
    run(cmake, "--install", build, "--prefix", prefix)


def example(work, cmake, compiler, *definitions):
    name = "-".join(re.sub(r"\W", "", word) for word in (pathlib.Path(compiler).name, *definitions))
    build = fresh(work / name)
    # Moved once: nothing in the package holds the place it was installed in.
    prefix = build / "moved"
    prefix.symlink_to(work / "prefix")
    run(cmake, "-S", EXAMPLE, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", *definitions)
    run(cmake, "--build", build)
    attend(build / "attend")


def pkg_config(work, compiler):
    folder = fresh(work / "pkg-config")
    prefix = work / "prefix"
    found = next(prefix.rglob("attnc.pc")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(found)}

    def ask(*options):
        return run("pkg-config", *options, "attnc", env=environment).split()

    expect(ask("--modversion") == [VERSION], "the version")
    specs, libraries = ask("--variable=specdir")[0], ask("--variable=libdir")[0]
    run(compiler, "-std=c++17", f'-DSPEC_DIR="{specs}"', *ask("--cflags"), EXAMPLE / "main.cpp",
        "-o", folder / "attend", *ask("--libs"), f"-Wl,-rpath,{libraries}")
    attend(folder / "attend")


def headers(work, gcc, clang):
    include = work / "prefix/include"
    source = work / "header.cpp"
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{include}")
    for header in sorted(path.relative_to(include) for path in include.rglob("*.h*")):
        source.write_text(f"#include <{header}>\n#include <{header}>\n")
        run(gcc, "-std=c++17", *warnings, source)
    source.write_text("#include <attnc/attnc.hpp>\n")
    run(clang, "-std=c++20", "-Wshadow", "-fno-exceptions", *warnings, source)
    source = work / "header.c"
    source.write_text("#include <attnc_c.h>\n")
    run(gcc, "-x", "c", "-std=c99", *warnings, source)


def libraries(work, nm, readelf):
    prefix = work / "prefix"
    shared, header = next(prefix.rglob("libattnc.so")), prefix / "include/attnc_c.h"
    for binary in (shared, prefix / "bin/attnc"):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run(readelf, "-d", "-W", binary))
        expect(needed and set(needed) <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"},
               f"{binary.name} needs {needed}")
    expect(f"[libattnc.so.{ABI}]" in run(readelf, "-d", "-W", shared), "the soname")
    for archive in prefix.rglob("libattnc.a"):
        shown = {line.split()[-1] for line in
                 run(nm, "--extern-only", "--defined-only", archive).splitlines() if " " in line}
        declared = set(re.findall(r"^ATTNC_API [^;]*?(attnc_\w+)\(", header.read_text(), re.M))
        expect(shown == declared, f"the archive shows {sorted(shown ^ declared)}")


def python(work):
    module = next((work / "prefix").rglob("attnc/__init__.py")).parent.parent
    specs = work / "prefix/share/attnc/specs"
    environment = {k: v for k, v in os.environ.items() if k != "ATTNC_LIBRARY"}
    code = ("import attnc, sys; "
            "print(attnc.compile(sys.argv[1], target='cpu').name, attnc._abi.library()._name)")
    said = run(sys.executable, "-c", code, specs / "full.json", cwd=work,
               env={**environment, "PYTHONPATH": str(module)})
    expect(said.startswith(f"full {work / 'prefix'}"), "the library that was loaded")


def deb(work, cpack, build):
    folder = fresh(work / "deb")
    run(cpack, "--config", pathlib.Path(build) / "CPackConfig.cmake", "-B", folder)
    packages = {path.name.split("_")[0]: path for path in folder.glob("*.deb")}
    expect(set(packages) == {"attnc", "attnc-dev", "attncd"}, f"the packages are {sorted(packages)}")
    fields = {name: run("dpkg-deb", "-f", path) for name, path in packages.items()}
    depends = {name: re.search(r"^Depends: (.*)$", text, re.M)[1] for name, text in fields.items()}
    expect(re.fullmatch(r"libc6 \(>= [\d.]+\)", depends["attnc"]), depends["attnc"])
    expect(depends["attnc-dev"] == f"attnc (= {VERSION})", depends["attnc-dev"])
    contents = {name: set(re.findall(r" \./(\S*[^/\s])(?: -> \S+)?$",
                                     run("dpkg-deb", "-c", path), re.M))
                for name, path in packages.items()}
    for name, path in (("attnc", "usr/bin/attnc"), ("attnc", f"usr/lib/libattnc.so.{VERSION}"),
                       ("attnc", f"usr/lib/libattnc.so.{ABI}"),
                       ("attnc", "usr/share/attnc/specs/elsa.json"),
                       ("attnc", "usr/lib/python3/dist-packages/attnc/__init__.py"),
                       ("attnc", "usr/share/doc/attnc/copyright"),
                       ("attnc-dev", "usr/lib/libattnc.so"),
                       ("attnc-dev", "usr/include/attnc/attnc.hpp"),
                       ("attnc-dev", "usr/lib/cmake/attnc/attncConfig.cmake"),
                       ("attnc-dev", "usr/lib/pkgconfig/attnc.pc"),
                       ("attncd", "usr/bin/attncd"),
                       ("attncd", "usr/lib/systemd/system/attncd.service")):
        expect(path in contents[name], f"{name} lacks {path}")
    expect("libmicrohttpd" in depends["attncd"], depends["attncd"])
    expect(sum(map(len, contents.values())) == len(set().union(*contents.values())),
           "a file is in two packages")
    shutil.rmtree(folder)


def subdirectory(work, cmake, c_compiler, compiler):
    build = fresh(work / "subdirectory")
    run(cmake, "-S", SOURCE / "tests/package/subdirectory", "-B", build, "-G", "Ninja",
        f"-DCMAKE_C_COMPILER={c_compiler}", f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DATTNC_SOURCE={SOURCE}")
    # Nothing is built: whatever links attnc waits for all of it, which takes as long as attnc itself.


def main(work, way, *arguments):
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    os.environ["ATTNC_CACHE_DIR"] = str(work / "cache")
    ways = {"install": install, "example": example, "pkg-config": pkg_config, "headers": headers,
            "libraries": libraries, "python": python, "deb": deb, "subdirectory": subdirectory}
    ways[way](work, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
