#!/usr/bin/env python3
"""Launches that are said to be beside the one before them, of specs of the library with many kernels: none
reads or writes what another one of the same run stores, and targets whose kernels cannot wait have none.

A tensor is stored by the first launch of a variant that names it, and inputs by none.

usage: besides.py ATTNC FOLDER
"""
import json
import pathlib
import subprocess
import sys


def manifest(attnc, spec, target, *options):
    done = subprocess.run([attnc, "compile", str(spec), "--target", target, "--emit", "manifest", *options],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def names(launch):
    return {arg[kind] if kind == "tensor_map" else arg["ptr"] for arg in launch["args"]
            for kind in ("ptr", "tensor_map") if kind in arg}


def mistakes(program, what):
    """How many launches are beside others, and what is wrong with them."""
    inputs = {tensor["name"] for tensor in program["inputs"]}
    found, wrong = 0, []
    for variant in program["variants"]:
        writer, first = {}, 0
        launches = [step for step in variant["launches"] if "loop" not in step]
        for number, launch in enumerate(launches):
            if not launch.get("beside"):
                first = number
            found += first < number
            for tensor in names(launch) - inputs:
                if first <= writer.setdefault(tensor, number) < number:
                    wrong.append(f"{what}: {launch['kernel']} beside the launch that stores {tensor}")
        if launches and launches[0].get("beside"):
            wrong.append(f"{what}: {launches[0]['kernel']} is beside nothing")
    return found, wrong


def main():
    attnc, folder = sys.argv[1:]
    found, wrong = 0, []
    for name in ("documents", "ipa_frames", "linear_causal", "nystrom", "ragged"):
        own, bad = mistakes(manifest(attnc, pathlib.Path(folder) / f"{name}.json", "sm_90a"), name)
        found += own
        wrong += bad
    if "beside" in json.dumps(manifest(attnc, pathlib.Path(folder) / "documents.json", "sm_80")["variants"]):
        wrong.append("kernels for sm_80 cannot wait")
    print(f"{found} launches beside others, {len(wrong)} mistakes", *wrong, sep="\n")
    return bool(wrong) or found < 10


if __name__ == "__main__":
    sys.exit(main())
