"""How far the results of a peer are from those of attnc."""
import math

import torch

AT_ONCE = 1 << 26  # elements


def relative(found, expected):
    """The largest root of the mean square of differences among outputs by name, relative to that of what is
    expected. Infinities that are equal, and NaN beside NaN, do not differ."""
    if missing := sorted(set(expected) - set(found)):
        raise ValueError(f"it does not give {', '.join(missing)}")
    return max(of_one(found[name], tensor, name) for name, tensor in expected.items())


def of_one(found, expected, name):
    if found.shape != expected.shape:
        raise ValueError(f"its {name} is {tuple(found.shape)} and not {tuple(expected.shape)}")
    apart = size = 0.0
    for one, other in zip(found.reshape(-1).split(AT_ONCE), expected.reshape(-1).split(AT_ONCE)):
        one, other = one.double(), other.double()
        same = (one == other) | one.isnan() & other.isnan()
        apart += torch.where(same, 0, one - other).square().sum().item()
        size += torch.where(other.isfinite(), other, 0).square().sum().item()
    if apart == 0:
        return 0.0
    return math.sqrt(apart / size) if size and math.isfinite(apart) else math.inf
