"""The library of specs, by name."""
import os
import pathlib


def _folders():
    package = pathlib.Path(__file__).resolve().parent
    return (package / "specs",                                  # a wheel
            package.parent.parent / "kernels_spec",             # a bundle
            package.parents[2] / "kernels_spec",                # this repository
            package.parents[3] / "share/attnc/specs")           # an installation


def names():
    """The names of the specs that came with attnc, sorted."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.json")})


def path_of(spec):
    """The file of a spec that is given by its path or, like "causal", by its name."""
    if isinstance(spec, str) and os.sep not in spec and "." not in spec \
            and not os.path.exists(spec):
        for folder in _folders():
            if (folder / f"{spec}.json").exists():
                return folder / f"{spec}.json"
    return spec
