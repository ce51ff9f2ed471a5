"""Calls of an operator that are like one before: libattnc_torch.so makes them without Python."""
import ctypes
import functools
import itertools
import struct
import threading

import torch

from attnc import _abi

_NAME = "libattnc_torch.so"  # beside libattnc.so; its source is api/torch/calls.cpp
_NAMESPACE = "attnc_calls"
_MOST_PARAMS = 256


def _load():
    """The library, or None where it was not built or this PyTorch is older than it needs."""
    path = next((p for p in (known.parent / _NAME for known in _abi._candidates()) if p.exists()),
                None)
    if path is None:
        return None
    try:
        return ctypes.CDLL(str(path))  # which registers torch.ops.attnc_calls
    except OSError:
        return None


_library = _load()
native = _library is not None
_numbers, _lock = itertools.count(), threading.Lock()
if native:
    _remember = torch.ops.attnc_calls.remember.default
    _operations = torch.library.Library(_NAMESPACE, "FRAGMENT")


@functools.lru_cache(maxsize=None)
def _connect():
    """Gives it the functions of the libattnc.so that programs are of."""
    known = _abi.library()
    _library.attnc_torch_use(*(ctypes.cast(function, ctypes.c_void_p) for function in (
        known.plan_launch_at, known.plan_destroy, known.error_destroy)))


@functools.lru_cache(maxsize=None)
def _launcher(inputs, outputs):
    """The operation that launches programs with so many tensors. Its outputs are None where no
    call like this one is known. Who calls it has seen to gradients and transforms."""
    name = f"launch_{inputs}_{outputs}"
    takes = ", ".join(["int calls", *(f"Tensor t{n}" for n in range(inputs))])
    _operations.define(f"{name}({takes}) -> ({', '.join(['Tensor'] * outputs)})")
    _library.attnc_torch_implement(name.encode())
    _operations.impl(name, torch.library.fallthrough_kernel, "Autograd")
    return getattr(torch.ops.attnc_calls, name).default


def as_list(results):
    return list(results) if isinstance(results, tuple) else [results]


class Calls:
    """The calls of one program of an operator. `kinds` are those of its params, "float" or "int";
    `conditions` the outputs that are bool for PyTorch and bytes for the program."""

    def __init__(self, kinds, conditions):
        self._kinds, self._conditions = kinds, conditions
        self._launch = None  # until there was a call
        self._without_params, self._of_params = next(_numbers), {}

    def again(self, tensors, params):
        """What a call like one before returns: its output or a tuple of them. None if there was
        none. `params` has None for those that are not given."""
        if self._launch is None:
            return None
        number = self._number(params)
        if number is None:
            return None
        results = self._launch(number, *tensors)
        return None if type(results) is tuple and results[0] is None else results

    def first(self, program, names, inputs, params, given):
        """Makes a call, remembers it and returns its outputs `names`. `inputs` are by name, in
        the order in which `again` has them; `given` are the params to pass by name."""
        number = self._number(params) if native else None
        if number is None:
            results = program.launch(inputs, params=given)
            return self._returned(names, results if isinstance(results, dict)
                                  else {names[0]: results})
        plan = program._bind(inputs, {}, given, None)
        results = self._returned(names, plan())
        self._keep(number, program, plan, names, inputs, results)
        return results

    def _returned(self, names, results):
        results = tuple(results[n].view(torch.bool) if n in self._conditions else results[n]
                        for n in names)
        return results[0] if len(names) == 1 else results

    def _keep(self, number, program, plan, names, inputs, results):
        with _lock:
            _connect()
            launch = _launcher(len(inputs), len(names))
        slots = {t.name: slot for slot, t in enumerate(program.inputs + program.outputs)}
        address, plan._handle.value = plan._handle.value.value, ctypes.c_void_p()  # it owns it now
        _remember(number, list(inputs.values()), address, [slots[n] for n in (*inputs, *names)],
                  as_list(results))
        self._launch = launch

    def _number(self, params):
        """What stands for the program with these params; None where one is not of its kind, which
        PyTorch converts or refuses."""
        if params.count(None) == len(params):
            return self._without_params
        values = []
        for kind, value in itertools.zip_longest(self._kinds, params):
            if kind == "float" and type(value) in (int, float):
                value = struct.pack("d", value)  # 0.0 is not -0.0
            elif value is not None and type(value) is not int:
                return None
            values.append(value)
        number = self._of_params.get(tuple(values))
        if number is None:
            if len(self._of_params) >= _MOST_PARAMS:
                self._of_params.clear()
            number = self._of_params.setdefault(tuple(values), next(_numbers))
        return number
