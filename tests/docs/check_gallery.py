#!/usr/bin/env python3
"""Keeps docs/gallery.md and its pictures true: they are made of the specs of the library, and of
what the float64 evaluator computes for them.

usage: check_gallery.py [--update] BIN_DIR REPOSITORY
"""
import difflib
import pathlib
import sys

import gallery_drawing
import gallery_scene

HEAD = """# Gallery

The specs of the library, with what they compute. Each picture is the matrix of weights of a spec:
a row is a query, a column is a key, and the stronger the colour, the more of that key's value is in
the result. Blue is a positive weight, orange a negative one, and an empty place a weight of 0.

`attnc show NAME` prints a spec, `attnc explain NAME` says how it is computed, and the
[library](library.md) has the kernels.

This page is made by `tests/docs/check_gallery.py`, and a test fails when it is not true. The
weights come from `attnc run NAME --target reference`, the float64 evaluator: with the identity as
values, the output is the matrix of weights. Queries and keys are a few waves along the sequence,
the same for both. The colour goes with the square root of the weight, relative to the largest one.
"""
STRIP = {"sliding_window": 0, "prefix_lm": 0, "documents": 0, "alibi": 0, "dropout": 0,
         "differential": 1}  # which panel of each


def body(statements, indent=""):
    """The lines of a formula."""
    for statement in statements:
        if isinstance(statement, dict):
            carried = ", ".join(statement["carry"])
            yield f"{indent}repeat {statement['repeat']} times, carrying {carried}:"
            yield from body(statement["body"], indent + "  ")
        else:
            yield indent + (statement if isinstance(statement, str) else " ".join(statement))


def caption(name, spec, picture):
    """What the picture shows beyond the defaults, and what it does not show."""
    scene = gallery_scene.SCENES.get(name, {})
    settings = {**scene.get("set", {}), **scene.get("param", {})}
    said = []
    if settings:
        said.append(f"With {', '.join(f'{n} = {value}' for n, value in settings.items())}.")
    if len(picture.keys) > 1:
        said.append(f"A column is a pair ({', '.join(picture.keys)}).")
    shown, *others = spec["outputs"]
    if others:
        said.append(f"The picture is of {shown}, not of {' and '.join(others)}.")
    return " ".join(said)


def section(name, spec, picture, file):
    what, _, paper = spec["doc"].partition("; ")
    yield from ["", f"## {name}", "", f"{what}. {paper}.".replace("..", "."), "",
                f"![Weights of {name}](gallery/{file})", ""]
    if said := caption(name, spec, picture):
        yield from [said, ""]
    yield from ["```text", *body(spec["body"]), "```"]


def generated(attnc, repository):
    """What the files should hold, by path. Specs with the same picture share its file."""
    folder = repository / "docs/gallery"
    lines, files, names, pictures = [HEAD.rstrip()], {}, {}, {}
    for path in sorted((repository / "kernels_spec").glob("*.json")):
        try:
            picture = pictures[path.stem] = gallery_scene.picture(attnc, path)
        except gallery_scene.SceneError as error:
            sys.exit(f"{path} has no picture: {error}\n{gallery_scene.__file__} says what it needs")
        svg = gallery_drawing.matrix(picture.weights, picture.panels, "Queries by keys")
        file = names.setdefault(svg, f"{path.stem}.svg")
        files[folder / file] = svg
        lines += section(path.stem, gallery_scene.load(path, attnc), picture, file)
    files[folder / "strip.svg"] = gallery_drawing.strip(
        [(name, pictures[name].weights[n]) for name, n in STRIP.items()])
    files[repository / "docs/gallery.md"] = "\n".join(lines) + "\n"
    return files


def main():
    update = "--update" in sys.argv
    bin_dir, repository = map(pathlib.Path, sys.argv[-2:])
    files = generated(bin_dir / "attnc", repository)
    folder = repository / "docs/gallery"
    stale = {path: None for path in folder.glob("*.svg") if path not in files}
    wrong = False
    for path, content in {**files, **stale}.items():
        before = path.read_text(encoding="utf-8") if path.exists() else None
        if before == content:
            continue
        if not update:
            wrong = True
            sys.stderr.writelines(difflib.unified_diff(
                (before or "").splitlines(True), (content or "").splitlines(True), str(path),
                "as it is"))
        elif content is None:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    if wrong:
        sys.exit(f"the gallery is not true. To accept: {sys.argv[0]} --update build/bin .")


if __name__ == "__main__":
    main()
