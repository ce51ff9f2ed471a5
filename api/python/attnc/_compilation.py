"""From a spec, or a file, to a program."""
import collections
import ctypes
import functools
import json
import os
import pathlib
import threading

from attnc import _abi, _programs, _spec_text, _specs, errors


def compile(spec, target, set=None, schedule=None, keep_texts=False, allow_mlir=False, cache=True):
    """Compiles a spec: the name of one that came with attnc, as "causal" (`attnc.library` lists
    them), a path, the text of a spec, or a dict as json.load gives it.

    `target` is "sm_90a", "sm_80", ... or "cpu"; `set` overrides static extents, named types and
    integer lets, as in {"d": 128, "T": "bf16"}; `schedule` is a dict, JSON text or the path of a
    schedule file; `allow_mlir` takes a path that ends in .mlir, a program in the attn dialect,
    which can say more than a spec; without `cache`, the cache on disk is not used. Raises
    SpecError, InvalidArgument, or Unavailable without NVRTC.
    """
    library = _abi.library()
    return _programs.Program(_compiled(library.compile_text, library.compile_file, spec,
                             (target, set, schedule, keep_texts, allow_mlir, cache)))


def load(path):
    """The program in a file that `Program.save` or `attnc compile` wrote. Raises InvalidArgument
    for what is no program, damaged, or for another processor, and Unavailable if it cannot be
    read."""
    library = _abi.library()
    handle = _abi.Handle(library.program_destroy)
    _abi.check(library.program_load(os.fsencode(path), ctypes.byref(handle.value)))
    return _programs.Program(handle)


class Jit:
    """Compiles specs and remembers the programs, the `capacity` that were used last. Of several
    threads that ask for the same program, one compiles it. Errors of specs and arguments are
    remembered too."""

    def __init__(self, capacity=256):
        if capacity < 1:
            raise errors.InvalidArgument(f"the capacity is {capacity}", "keep at least one program")
        library = _abi.library()
        self._handle, self._lock = _abi.Handle(library.jit_destroy), threading.Lock()
        self._capacity, self._programs = capacity, collections.OrderedDict()
        options = _abi.JitOptions(capacity=capacity)
        _abi.check(library.jit_create(ctypes.byref(options), ctypes.byref(self._handle.value)))

    def compile(self, spec, target, set=None, schedule=None, keep_texts=False, allow_mlir=False,
                cache=True):
        """As the module's `compile`. The same spec and options give the same Program, with what it
        has loaded. A file is read each time, and what counts is what it holds."""
        library, jit = _abi.library(), self._handle.value
        handle = _compiled(functools.partial(library.jit_text, jit),
                           functools.partial(library.jit_file, jit), spec,
                           (target, set, schedule, keep_texts, allow_mlir, cache))
        # Handles differ, but what they stand for has one manifest.
        identity = library.program_text(handle.value, _programs.TEXTS.index("manifest"), 0, None)
        with self._lock:
            program = self._programs.get(identity) or _programs.Program(handle)
            self._programs[identity] = program
            self._programs.move_to_end(identity)
            while len(self._programs) > self._capacity:
                self._programs.popitem(last=False)
            return program

    def stats(self):
        """Counts: `programs` kept, `hits` (of which `waits` for another thread), `misses`, and how
        many were `dropped` to stay within the capacity."""
        stats = _abi.JitStats()
        _abi.check(_abi.library().jit_get_stats(self._handle.value, ctypes.byref(stats)))
        return {name: getattr(stats, name) for name, _ in _abi.JitStats._fields_[1:]}

    def clear(self):
        """Forgets everything."""
        with self._lock:
            self._programs.clear()
        _abi.library().jit_clear(self._handle.value)


def _compiled(from_text, from_file, spec, options):
    """The handle that one of the library's functions gives for a spec."""
    target, set, schedule, keep_texts, allow_mlir, cache = options
    values = [f"{name}={value}".encode() for name, value in (set or {}).items()]
    options = _abi.CompileOptions(
        target=target.encode(), set=(_abi.text * max(len(values), 1))(*values),
        set_count=len(values), schedule=_schedule_text(schedule), keep_texts=int(keep_texts),
        no_cache=int(not cache), allow_mlir=int(allow_mlir))
    handle = _abi.Handle(_abi.library().program_destroy)
    tail = (ctypes.byref(options), ctypes.byref(handle.value))
    if isinstance(spec, _spec_text.Spec):
        title, text = f"<{spec.get('name')}>", spec.to_json().encode()
        with spec.located(title):
            _abi.check(from_text(title.encode(), text, len(text), *tail))
        return handle
    if isinstance(spec, dict):
        spec = json.dumps(spec)
    if isinstance(spec, str) and spec.lstrip().startswith(("{", "/*", "//")):
        text = spec.encode()
        _abi.check(from_text(b"<text>", text, len(text), *tail))
    else:
        _abi.check(from_file(os.fsencode(_specs.path_of(spec)), *tail))
    return handle


def _schedule_text(schedule):
    if schedule is None:
        return None
    if isinstance(schedule, dict):
        return json.dumps(schedule).encode()
    if isinstance(schedule, str) and schedule.lstrip().startswith("{"):
        return schedule.encode()
    return pathlib.Path(schedule).read_bytes()
