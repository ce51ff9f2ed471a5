#!/usr/bin/env python3
"""Breaks the compiler on purpose and sees which test notices.

Every mutant of mutants.py is a change of a few words in one file. All of them are compiled into one
copy of the tree, each behind `attncMutant(ID)`, which reads the environment variable ATTNC_MUTANT
once: so there is one build, and a mutant is a run of the tests with another value. A mutant that no
suite kills means that a test is missing.

    mutate.py check                     every change fits the sources, exactly once
    mutate.py run [--only ID...]        copies, builds, runs; writes a report
    mutate.py run --binaries DIR        takes programs built elsewhere, builds nothing

One mutant after the other with a build, `--jobs` of them at a time with --binaries. The suites of a
mutant go from the fastest to the slowest, and the first that fails ends it.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time

from mutants import MUTANTS, SUITES

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "compiler/mutant.h"
HEADER_TEXT = """#ifndef ATTNC_COMPILER_MUTANT_H
#define ATTNC_COMPILER_MUTANT_H
#include <cstdlib>
inline bool attncMutant(int id) {
  static const char *text = std::getenv("ATTNC_MUTANT");
  static const int active = text ? std::atoi(text) : 0;
  return active == id;
}
#endif
"""
WORD = "MUTANT"


def patched(text, mutant):
    """The file with both behaviours, or an error."""
    if text.count(mutant["old"]) != 1:
        raise ValueError(f"mutant {mutant['id']}: {mutant['file']} has the text "
                         f"{text.count(mutant['old'])} times, not once")
    if WORD not in mutant["new"]:
        raise ValueError(f"mutant {mutant['id']} never asks whether it is wanted")
    new = mutant["new"].replace(WORD, f"attncMutant({mutant['id']})")
    return text.replace(mutant["old"], new)


def patched_files():
    """The text of every file that a mutant is in, by name, and what does not fit."""
    texts, errors = {}, []
    for mutant in MUTANTS:
        name = mutant["file"]
        try:
            texts[name] = patched(texts.get(name) or (ROOT / name).read_text(), mutant)
        except (OSError, ValueError) as error:
            errors.append(str(error))
    return {name: f'#include "{HEADER}"\n' + text for name, text in texts.items()}, errors


def check():
    _, errors = patched_files()
    ids = [mutant["id"] for mutant in MUTANTS]
    if len(set(ids)) != len(ids) or 0 in ids:
        errors.append("ids are not all different, or one is 0")
    for mutant in MUTANTS:
        errors += [f"mutant {mutant['id']}: no suite {s}" for s in mutant["suites"]
                   if s not in SUITES]
    for error in errors:
        print(error, file=sys.stderr)
    print(f"{len(MUTANTS)} mutants, {len(errors)} errors")
    return 1 if errors else 0


def specs_from_here(name, text):
    """The programs of the copy look for specs below the folder they run in, so they can travel."""
    if name in ("tests/unit/transforms/CMakeLists.txt", "tests/unit/schedule/CMakeLists.txt"):
        return text.replace(b'"${CMAKE_SOURCE_DIR}/', b'"')
    return text


def copy_tree(to):
    """What git knows or would add, with the mutants, into `to`; what is there already keeps its
    time, so that only what changed is built anew."""
    changed, errors = patched_files()
    if errors:
        sys.exit("\n".join(errors))
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    files = {name: None for name in listed if name and (ROOT / name).is_file()}
    files.update({name: text.encode() for name, text in changed.items()})
    files[HEADER] = HEADER_TEXT.encode()
    for name, text in files.items():
        target = to / name
        text = specs_from_here(name, text or (ROOT / name).read_bytes())
        if not target.exists() or target.read_bytes() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
            if name != HEADER:
                shutil.copymode(ROOT / name, target)


def build(tree, jobs):
    directory = tree / "build"
    if not (directory / "build.ninja").exists():
        subprocess.run(["nice", "-n", "19", "cmake", "--preset", "default"], cwd=tree, check=True)
    targets = sorted({target for suite in SUITES.values() for target in suite["targets"]})
    subprocess.run(["nice", "-n", "19", "ninja", "-C", "build", "-j", str(jobs), *targets],
                   cwd=tree, check=True)


def run_suite(tree, binaries, suite, mutant, seconds):
    """The outcome of a suite: None if it passes, else what failed."""
    command = [part.replace("@", f"{binaries}/") for part in suite["command"]]
    environment = {**os.environ, "ATTNC_MUTANT": str(mutant)}
    try:
        ran = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True,
                             errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return "takes too long"
    if ran.returncode == 0:
        return None
    lines = (ran.stdout + ran.stderr).splitlines()
    failed = [line for line in lines if line.startswith("[  FAILED  ]") or '"failure"' in line
              or (".json: " in line and not line.endswith(": ok"))]
    return (failed or lines[-1:] or [f"exit {ran.returncode}"])[0].strip()[:300]


def wanted(only):
    return [mutant for mutant in MUTANTS if not only or mutant["id"] in only]


def baseline(tree, binaries, jobs):
    """The suites without a mutant: how long each takes, and what fails in those of no use."""
    def one(name):
        begin = time.time()
        failure = run_suite(tree, binaries, SUITES[name], 0, SUITES[name].get("seconds", 300))
        return name, time.time() - begin, failure

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(one, SUITES))
    for name, seconds, failure in outcomes:
        print(f"without a mutant: {name} {seconds:.1f} s {failure or 'passes'}", flush=True)
    return ({name: seconds for name, seconds, failure in outcomes if failure is None},
            {name: failure for name, _, failure in outcomes if failure is not None})


def try_mutant(tree, binaries, mutant, took, end):
    """Its suites up to the first that fails. A suite may take five times as long as without."""
    result = {"id": mutant["id"], "file": mutant["file"], "change": mutant["why"],
              "killed": False, "suite": None, "failure": None, "not_run": []}
    for name in sorted((s for s in mutant["suites"] if s in took), key=took.get):
        limit = max(30, 5 * took[name])
        left = end - time.time()
        outcome = None
        if left > 0:
            outcome = run_suite(tree, binaries, SUITES[name], mutant["id"], min(limit, left))
        if left <= 0 or (outcome == "takes too long" and left < limit):
            result["not_run"].append(name)
        elif outcome is not None:
            return {**result, "killed": True, "suite": name, "failure": outcome, "not_run": []}
    return result


def run(options):
    tree = pathlib.Path(options.tree)
    binaries, jobs = tree / "build/bin", 1
    if options.binaries:
        # Beside the programs lies what they read; see specs_from_here.
        tree, binaries, jobs = ROOT, pathlib.Path(options.binaries).resolve(), options.jobs
    else:
        if not options.reuse:
            copy_tree(tree)
        build(tree, options.jobs)
    begin = time.time()
    took, broken = baseline(tree, binaries, jobs)
    if broken and not options.binaries:
        sys.exit("\n".join(f"the suite {name} fails without a mutant: {failure}"
                           for name, failure in broken.items()))
    results = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        end = begin + options.seconds
        tried = [pool.submit(try_mutant, tree, binaries, mutant, took, end)
                 for mutant in wanted(options.only)]
        for future in concurrent.futures.as_completed(tried):
            result = future.result()
            results.append(result)
            outcome = ("killed by " + result["suite"] if result["killed"] else
                       "not finished" if result["not_run"] else "SURVIVES")
            print(f"{result['id']:3} {outcome:24} {result['change']}", flush=True)
    results.sort(key=lambda result: result["id"])
    commit = options.commit or subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True,
                                              capture_output=True, text=True).stdout.strip()
    report = {"machine": platform.processor() or platform.machine(), "commit": commit,
              "date": time.strftime("%Y-%m-%d", time.gmtime()),
              "seconds": round(time.time() - begin), "mutants": len(results),
              "killed": sum(r["killed"] for r in results),
              "suites": {name: " ".join(suite["command"]).replace("@", "")
                         for name, suite in SUITES.items()},
              "failing_without_mutant": broken, "results": results}
    pathlib.Path(options.report).write_text(json.dumps(report, indent=1) + "\n")
    print(f"{report['killed']} of {report['mutants']} killed, {report['seconds']} s")
    return 0 if report["killed"] == report["mutants"] and not broken else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="every change fits the sources, exactly once")
    runner = commands.add_parser("run", help="copy, build, run the suites")
    runner.add_argument("--tree", default=str(ROOT / "build-mutation"), help="the copy")
    runner.add_argument("--reuse", action="store_true", help="take the copy as it is")
    runner.add_argument("--only", type=int, nargs="*", help="these mutants")
    runner.add_argument("--jobs", type=int, default=1, help="of the build; of the run with --binaries")
    runner.add_argument("--binaries", help="run the programs of this folder")
    runner.add_argument("--seconds", type=float, default=36000, help="no suite goes on after this")
    runner.add_argument("--commit", help="what the programs were built from, where git cannot say")
    runner.add_argument("--report", default=str(ROOT / "bench/results/mutations.json"))
    options = parser.parse_args()
    return check() if options.command == "check" else run(options)


if __name__ == "__main__":
    sys.exit(main())
