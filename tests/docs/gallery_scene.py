"""What the float64 evaluator is given so that a spec's output is its attention matrix.

An output that is linear in the values is the matrix of weights where the values are the identity:
column e of the output is then the weight of key e. The values are found by their dims: an input
with the last dim of the output, and with dims that the output lacks, which are those of the keys.
"""
import dataclasses
import itertools
import json
import re
import subprocess
import tempfile

import numpy

LENGTH = 32  # queries, and keys, of a picture
EXTENTS = {"i": LENGTH, "j": LENGTH}  # of dynamic dims; those that are not here are 1
BATCHES = ("b", "n", "h", "hk")  # dims that are neither positions nor features

# What differs from the defaults, so that what a spec is about shows at these sizes.
SCENES = {
    "alibi": {"shape": {"h": 3}},
    "causal_bottom_right": {"shape": {"i": 20}},
    "cross": {"shape": {"i": 16}},
    "differential": {"shape": {"h": 2}},
    "differential_norm": {"shape": {"h": 2}},
    "ffpa_causal": {"shape": {"i": 20}},
    "ffpa_cross": {"shape": {"i": 16}},
    "ffpa_gqa": {"shape": {"h": 4, "hk": 2, "i": 16, "j": 16}},
    "gqa": {"shape": {"h": 4, "hk": 2, "i": 16, "j": 16}},
    "linear": {"set": {"d": 4}},
    "linear_causal": {"set": {"d": 4}},
    "nystrom": {"set": {"m": 8}},
    "nystrom_conv": {"set": {"m": 8, "w": 5}},
    "paged": {"set": {"t": 4}, "shape": {"n": 10, "w": 5, "i": 16}},
    "prefix_lm": {"param": {"prefix": 8}},
    "ragged": {"shape": {"n": 4, "i_rows": LENGTH, "j_rows": LENGTH}},
    "relative_bias": {"set": {"d": 1}, "shape": {"h": 2}},
    "sink": {"shape": {"h": 2}},
    "sliding_window": {"set": {"w": 8}},
    "softcap": {"param": {"cap": 0.5}},
    "varlen": {"shape": {"b": 3}},
}

# Inputs that are neither queries, keys nor values, by name: a function of the indices of the dims.
FIELDS = {
    "slope": lambda at: 0.5 ** (2 * at["h"] + 1),
    "bias": lambda at: 1.5 * numpy.cos(at["i"] / 3) * numpy.cos(at["j"] / 4),
    "pair": lambda at: 1.5 * numpy.cos((at["i"] - at["j"]) / 3),
    "mask": lambda at: numpy.where((at.get("i", 0) + at["j"]) // 4 % 3 == 2, -1e4, 0),
    "gate": lambda at: 0 * at["e"],
    "gain": lambda at: 1 + 0 * at["e"],
    "gamma": lambda at: 1 + 0 * at["h"],
    "lambda": lambda at: 0.3 + 0.6 * at["h"],
    "sink": lambda at: -1 + 4 * at["h"],
    "c": lambda at: 0.3 - 0.1 * abs(at["w"] - 2),
    "w": lambda at: 2 * numpy.cos(at["n"] * (1 + at["h"]) / 2),
    "ri": lambda at: 1.0 * (at["x"] == at["y"]),
    "rj": lambda at: 1.0 * (at["x"] == at["y"]),
    "ti": lambda at: 0.0 * at["x"],
    "tj": lambda at: 0.0 * at["x"],
    "di": lambda at: numpy.searchsorted([9, 14, 25], at["i"], side="right"),
    "dj": lambda at: numpy.searchsorted([9, 14, 25], at["j"], side="right"),
    "bucket": lambda at: numpy.minimum(at["i"] // 3, 7),
    "len": lambda at: numpy.take([32, 21, 9], at["b"]),
    "cu": lambda at: numpy.take([0, 9, 14, 32], at["n"]),
    "table": lambda at: numpy.take([7, 2, 4, 0, -1], at["w"]),
}


class SceneError(Exception):
    """A spec that has no picture by the rules of this file, or no values for an input."""


@dataclasses.dataclass
class Layout:
    """Which tensors and dims of a spec make the matrix."""
    output: str
    dims: list    # of the output in memory
    values: str   # the input in which the output is linear
    keys: list    # dims of the values that the output lacks
    query: str
    column: str   # the last dim of both, which becomes that of the keys


@dataclasses.dataclass
class Picture:
    """Weights of one spec: [panel, query, key]."""
    weights: numpy.ndarray
    panels: list  # what each one is: "h = 0"
    keys: list    # the dims that are laid along its columns


def load(path, attnc):
    """A spec of the library, with what it extends."""
    shown = subprocess.run([attnc, "show", path.stem, "--whole"], capture_output=True, text=True,
                           check=True)
    return json.loads(shown.stdout)


def dims_of(declared):
    """ "T[b, h, i]" -> ["b", "h", "i"] """
    return re.findall(r"\w+", declared.partition("[")[2])


def stored_dims(spec, output):
    """The dims of an output in memory: those of its label without what packed rows are over."""
    labels = [line.partition("]")[0] for line in spec["body"]
              if isinstance(line, str) and line.startswith(f"{output}[")]
    if not labels:
        raise SceneError(f"no statement gives '{output}' a label")
    dims = dims_of(labels[-1])
    over = {spec["dims"][d]["over"] for d in dims
            if isinstance(spec["dims"].get(d), dict) and "over" in spec["dims"][d]}
    return [d for d in dims if d not in over]


def layout_of(spec):
    output = next(iter(spec["outputs"]))
    dims = stored_dims(spec, output)
    for name, declared in spec["inputs"].items():
        of_values = dims_of(declared)
        keys = [d for d in of_values if d not in dims]
        if of_values[-1] == dims[-1] and keys:
            query = next(d for d in reversed(dims) if d not in of_values and d not in BATCHES)
            return Layout(output, dims, name, keys, query, dims[-1])
    raise SceneError(f"no input has the last dim of '{output}' and dims that it lacks")


def extents(spec, scene):
    """The extents of dynamic dims, and of all dims, by name."""
    dynamic = {d: scene.get("shape", {}).get(d, EXTENTS.get(d, 1))
               for d in spec["reference"]["shape"]}
    static = {d: n for d, n in spec["dims"].items() if isinstance(n, int)}
    rows = {d: dynamic[f"{d}_rows"] for d in spec["dims"] if f"{d}_rows" in dynamic}
    return dynamic, {**static, **dynamic, **rows, **scene.get("set", {})}


def indices(dims, extent):
    """name -> the index along that dim, shaped so that they broadcast."""
    return dict(zip(dims, numpy.ogrid[tuple(slice(extent[d]) for d in dims)])) if dims else {}


def waves(name, dims, extent, positions):
    """Queries and keys: a few waves along the position, the same for both, so that near ones meet.
    Their products, divided by the root of the number of features, are at most 4. A number in the
    name, of q2 and k2, makes them others."""
    at = indices(dims, extent)
    position = next((at[d] for d in dims if d in positions), 0)
    features = [d for d in dims if d not in positions and d not in BATCHES]
    feature = 0
    for d in features:
        feature = feature * extent[d] + at[d]
    phase = sum(at[d] for d in BATCHES if d in at) + 1.7 * feature
    pitch = 0.1 + 0.13 * (feature % 5) + 0.07 * int(re.sub(r"\D", "", name) or 0)
    size = 2 / numpy.prod([extent[d] for d in features]) ** 0.25
    return size * numpy.cos(pitch * position + phase)


def identity(dims, extent, keys, column):
    at = indices(dims, extent)
    place = 0
    for d in keys:
        place = place * extent[d] + at[d]
    return 1.0 * (place == at[column])


def values_of(name, declared, extent, layout):
    """What an input holds."""
    dims = dims_of(declared)
    if name == layout.values:
        return identity(dims, extent, layout.keys, layout.column)
    if name in FIELDS:
        return FIELDS[name](indices(dims, extent))
    if declared.startswith("i"):
        raise SceneError(f"FIELDS says nothing of the integers '{name}'")
    if layout.column in dims:  # it would meet the values, and scores are not to depend on them
        return numpy.zeros(())
    positions = {layout.query, *layout.keys}.difference(BATCHES)
    return waves(name, dims, extent, positions)


def make_inputs(spec, extent, layout):
    arrays = {}
    for name, declared in spec["inputs"].items():
        held = numpy.broadcast_to(values_of(name, declared, extent, layout),
                                  [extent[d] for d in dims_of(declared)])
        kind = numpy.int32 if declared.startswith("i") else numpy.float32
        arrays[name] = numpy.ascontiguousarray(held, kind)
    return arrays


def evaluate(attnc, path, options, arrays, output):
    with tempfile.TemporaryDirectory() as folder:
        for name, array in arrays.items():
            numpy.save(f"{folder}/{name}.npy", array)
        command = [attnc, "run", path, "--target", "reference",
                   *(f"--input={name}={folder}/{name}.npy" for name in arrays),
                   f"--output={output}={folder}/result.npy", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SceneError(done.stderr)
        return numpy.load(f"{folder}/result.npy")


def options(spec, scene, dynamic, layout, extent):
    replaced = {**{name: "f32" for name in spec["types"]}, layout.column: extent[layout.column],
                **scene.get("set", {})}
    return [f"--shape={','.join(f'{d}={n}' for d, n in dynamic.items())}",
            *(f"--set={name}={value}" for name, value in replaced.items()),
            *(f"--param={name}={value}" for name, value in scene.get("param", {}).items())]


def panels_of(result, layout):
    """A matrix for each index of the other dims, and what these are."""
    rest = [n for n, d in enumerate(layout.dims) if d not in (layout.query, layout.column)]
    ordered = result.transpose(*rest, layout.dims.index(layout.query), len(layout.dims) - 1)
    shown = [n for n in rest if result.shape[n] > 1]
    titles = [", ".join(f"{layout.dims[n]} = {at}" for n, at in zip(shown, place))
              for place in itertools.product(*(range(result.shape[n]) for n in shown))]
    return ordered.reshape(-1, *ordered.shape[-2:]), titles


def picture(attnc, path):
    """The weights of the first output of a spec."""
    spec, scene = load(path, attnc), SCENES.get(path.stem, {})
    layout = layout_of(spec)
    dynamic, extent = extents(spec, scene)
    extent[layout.column] = int(numpy.prod([extent[d] for d in layout.keys]))
    result = evaluate(attnc, path, options(spec, scene, dynamic, layout, extent),
                      make_inputs(spec, extent, layout), layout.output)
    weights, titles = panels_of(result, layout)
    return Picture(weights, titles, [d for d in layout.keys if extent[d] > 1])
