"""NVRTC of the wheel nvidia-cuda-nvrtc."""
import os
import pathlib
import sys

LIBRARY = "libnvrtc.so.13"


def name_wheel():
    """Names the wheel's NVRTC in ATTNC_NVRTC, if there is one where this Python imports from and
    nobody has named another. The library itself knows virtual environments only by VIRTUAL_ENV,
    which a Python that is called by its path has not."""
    if "ATTNC_NVRTC" in os.environ:
        return
    for folder in sys.path:
        found = sorted(pathlib.Path(folder or ".").glob(f"nvidia/*/lib/{LIBRARY}"))
        if found:
            os.environ["ATTNC_NVRTC"] = str(found[0].resolve())
            return
