"""Programs and plans."""
import collections
import ctypes
import os
import threading

from attnc import _abi, _array, _streams, _tensors, errors

Tensor = collections.namedtuple("Tensor", "name dtype dims align")
Param = collections.namedtuple("Param", "name dtype has_default")
Kernel = collections.namedtuple(
    "Kernel", "name form schedule notes threads shared_bytes registers spill_store_bytes "
    "spill_load_bytes stack_bytes static_shared_bytes")
TEXTS = ("attn", "red", "tile", "llvm", "manifest", "warnings", "cuda", "ptx", "cubin")


class Plan:
    """A program bound to tensors; they stay alive as long as it does."""

    def __init__(self, handle, loaded, tensors, views, device, outputs):
        self._handle, self._loaded, self._tensors = handle, loaded, tensors
        self._owners = [view.owner for view in views]
        self._producers = {view.stream for view in views} - {None}
        self._device, self.outputs = device, outputs
        self._arrays = [o for o in outputs.values() if isinstance(o, _array.Array)]
        self._address, self._launch = handle.value.value, _abi.library().plan_launch

    @property
    def workspace_bytes(self):
        """Scratch memory that a launch needs."""
        return _abi.library().plan_workspace_bytes(self._address)

    def __call__(self, stream=None, workspace=None):
        """Launches and returns the outputs by name. `workspace` is the address of device memory
        that nothing else uses until the work is done; without it, a launch takes its own in the
        order of the stream."""
        handle = _streams.launch_stream(stream, self._device)
        if stream is not None:
            _streams.keep(self._tensors.values(), _streams.side_stream(stream, self._device))
        if self._producers:
            _streams.wait_for(self._producers, handle, self._device)
        error = self._launch(self._address, handle, workspace)
        if error:
            _abi.check(error)
        for array in self._arrays:
            array.written_on(handle)
        return self.outputs


class _Known:
    """What is remembered of the calls of one layout: a plan, the outputs that a call makes, and
    what makes them."""
    __slots__ = ("plan", "loaded", "device", "made", "make")

    def __init__(self, plan, loaded, device, made, make):
        self.plan, self.loaded, self.device = plan, loaded, device
        self.made, self.make = made, make


class Program:
    """A compiled spec. `inputs`, `outputs`, `params`, `dims` and `kernels` say what is in it;
    `seconds` (`nvrtc_seconds` of them in NVRTC) is how long it took to be ready, and `origin` where
    it came from: "compiler", "disk" (the cache), "remote" (the fleet's) or "file". `entry_names`
    are its entry points: "forward", which the program itself is, and "backward" if the spec has
    the key `grad`."""

    def __init__(self, handle):
        self._handle, self._loaded, self._lock = handle, {}, threading.Lock()
        self._known = {}  # calls by their layouts, the oldest first
        self._entries = {}
        library = _abi.library()
        self.name = library.program_name(handle.value).decode()
        self.target = library.program_target(handle.value).decode()
        tensors = [(bool(t.is_output),
                    Tensor(t.name.decode(), _tensors.DTYPES[t.dtype],
                           tuple(t.dims[i].decode() for i in range(t.rank)), t.align))
                   for t in self._all("tensor", _abi.TensorInfo)]
        self.inputs = tuple(t for is_output, t in tensors if not is_output)
        self.outputs = tuple(t for is_output, t in tensors if is_output)
        self.dims = {d.name.decode(): d.extent if d.extent >= 0 else None
                     for d in self._all("dim", _abi.DimInfo)}
        self.params = tuple(Param(p.name.decode(), _tensors.DTYPES[p.dtype], bool(p.has_default))
                            for p in self._all("param", _abi.ParamInfo))
        self.kernels = tuple(
            Kernel(*(v.decode() if isinstance(v, bytes) else v
                     for v in (getattr(k, field) for field in Kernel._fields)))
            for k in self._all("kernel", _abi.KernelInfo))
        self._slots = {t.name: (slot, _tensors.DTYPES.index(t.dtype))
                       for slot, t in enumerate(self.inputs + self.outputs)}
        self._addresses = _abi.pointer * max(len(self._slots), 1)
        timings = _abi.Timings()
        _abi.check(library.program_timings(handle.value, ctypes.byref(timings)))
        self.seconds, self.nvrtc_seconds = timings.total, timings.nvrtc
        self.origin = ("compiler", "disk", "file", "remote")[timings.origin]
        self.entry_names = tuple(library.program_entry_name(handle.value, index).decode()
                                 for index in range(library.program_entry_count(handle.value)))

    def _all(self, what, struct):
        library = _abi.library()
        for index in range(getattr(library, f"program_{what}_count")(self._handle.value)):
            info = struct()
            _abi.check(getattr(library, "program_" + what)(self._handle.value, index,
                                                       ctypes.byref(info)))
            yield info

    def __repr__(self):
        def signature(tensors):
            return ", ".join(f"{t.name}: {t.dtype}[{', '.join(t.dims)}]" for t in tensors)
        params = "".join(f", {p.name}: {p.dtype}" for p in self.params)
        return (f"<attnc program {self.name} for {self.target}: ({signature(self.inputs)}{params})"
                f" -> ({signature(self.outputs)})>")

    def text(self, which, kernel=0):
        """One of "attn", "red", "tile", "llvm", "manifest", "warnings", or, of one kernel, "cuda",
        "ptx", "cubin" (bytes). The IR and "cuda" need keep_texts; None if there is none."""
        if which not in TEXTS:
            raise errors.InvalidArgument(f"there is no text '{which}'",
                                         "one of " + ", ".join(TEXTS))
        length = _abi.size_t()
        address = _abi.library().program_text(self._handle.value, TEXTS.index(which), kernel,
                                          ctypes.byref(length))
        if not address:
            return None
        content = ctypes.string_at(address, length.value)
        return content if which == "cubin" else content.decode()

    def entry(self, name):
        """An entry point as a Program, the same one each time. "forward" is this program. Raises
        InvalidArgument for a name that is not in `entry_names`."""
        if name == "forward":
            return self
        with self._lock:
            if name not in self._entries:
                handle = _abi.Handle(_abi.library().program_destroy)
                _abi.check(_abi.library().program_entry(self._handle.value, name.encode(),
                                                ctypes.byref(handle.value)))
                self._entries[name] = Program(handle)
            return self._entries[name]

    @property
    def backward(self):
        """The Program of the gradients. It takes the inputs of the spec that it needs, the outputs
        `saved_*` of this program, and `grad_o`, the gradient of each output `o`; it gives `grad_q`
        for each input `q` that the spec asks for. Raises InvalidArgument if the spec asks for
        none."""
        return self.entry("backward")

    def save(self, path):
        """Writes a program file, with all that launches may need. `load` of this module, `attnc
        run` and the C interface read it, also where there is no NVRTC."""
        _abi.check(_abi.library().program_save(self._handle.value, os.fsencode(path)))

    def warm_up(self, device=None):
        """As `load`, with all variants: after it no call waits for the compiler, and calls can be
        captured in a CUDA graph."""
        _abi.check(_abi.library().warm_up(self._load(-1 if device is None else device).value))

    def load(self, device=None):
        """Loads the kernels on GPU number `device` (that of the current context without it), which
        the first call does otherwise."""
        return self._load(-1 if device is None else device)

    def _load(self, device):
        """-1 for the current GPU. Under its number it is found again by calls with tensors."""
        with self._lock:
            if device not in self._loaded:
                handle = _abi.Handle(_abi.library().loaded_destroy)
                _abi.check(_abi.library().load(self._handle.value, device,
                                               ctypes.byref(handle.value)))
                number = _abi.library().loaded_device(handle.value)
                self._loaded[device] = self._loaded.setdefault(number, handle)
            return self._loaded[device]

    def launch(self, inputs, outputs=None, params=None, stream=None, memory_budget=None):
        """As a call, with names in dicts: for specs whose names a call cannot take."""
        return self._call(inputs, outputs or {}, params or {}, stream, memory_budget)

    def bind(self, out=None, memory_budget=None, **arguments):
        """Checks tensors and params and returns a Plan, which can be launched again and again.
        `memory_budget` is the most bytes that values between kernels may take; a shape at which
        they take more is an InvalidArgument, before scratch memory is allocated."""
        return self._bind(*self._split(arguments, out), memory_budget)

    def __call__(self, out=None, stream=None, memory_budget=None, **arguments):
        """Computes the outputs from inputs and params, by name. `out` maps names of outputs to
        tensors to write; those that it lacks are allocated. Returns the output, or a dict of them
        if there are several. `memory_budget` is as for `bind`."""
        inputs, outputs, params = self._split(arguments, out)
        return self._call(inputs, outputs or {}, params, stream, memory_budget)

    def _split(self, arguments, out):
        slots = self._slots
        params = {name: value for name, value in arguments.items() if name not in slots}
        inputs = arguments
        if params:
            names = {param.name for param in self.params}
            params = {name: value for name, value in params.items() if name in names}
            inputs = {name: value for name, value in arguments.items() if name not in params}
        if out is not None and not isinstance(out, dict):
            if len(self.outputs) != 1:
                raise errors.InvalidArgument(f"{self.name} has {len(self.outputs)} outputs",
                                      "pass out={name: tensor}")
            out = {self.outputs[0].name: out}
        return inputs, out, params

    def _returned(self, outputs, made, make):
        """What a call returns. The outputs that `make` has made become the caller's."""
        if isinstance(make, _tensors.Foreign):
            outputs = {**outputs, **{name: make.convert(outputs[name]) for name in made}}
        if len(self.outputs) == 1:
            return outputs[self.outputs[0].name]
        return {t.name: outputs[t.name] for t in self.outputs}

    _MOST_KNOWN = 256

    def _call(self, inputs, outputs, params, stream, memory_budget):
        """A call like one before launches its plan at other addresses; others are bound first."""
        addresses, views = self._addresses(), {}
        key = self._key(inputs, outputs, params, memory_budget, stream, addresses, views)
        known = self._known.get(key) if key else None
        if known is not None:
            returned = self._again(known, inputs, outputs, views, stream, addresses)
            if returned is not None:
                return returned
        plan = self._bind(inputs, outputs, params, memory_budget, stream, views)
        results, make = plan(stream), self._maker(inputs)
        made = {t.name: (self._slots[t.name][0], tuple(results[t.name].shape),
                         _tensors.DTYPES.index(t.dtype))
                for t in self.outputs if t.name not in outputs}
        if key:
            self._remember(key, _Known(plan._handle, plan._loaded, plan._device, made, make))
        return self._returned(results, made, make)

    def _maker(self, inputs):
        return _tensors.maker_like(inputs[self.inputs[0].name] if self.inputs else None)

    def _key(self, inputs, outputs, params, memory_budget, stream, addresses, views):
        """All that a call depends on but addresses, which are put into `addresses`, and views of
        tensors that are not PyTorch's into `views`; None where that cannot be said."""
        slots, key = self._slots, [memory_budget, len(inputs)]
        for group in (inputs, outputs):
            for name, tensor in group.items():
                if name not in slots:
                    return None
                slot, dtype = slots[name]
                part, addresses[slot] = _tensors.part_of(name, tensor, dtype, stream, views)
                key.append(slot)
                key.append(part)
        for name, value in params.items():
            if type(value) not in (int, float, bool):
                return None  # something that may change
            # Equal numbers are not the same param: 1 is 1.0, and 0.0 is -0.0.
            key.append((name, type(value), value or str(value)))
        return tuple(key)

    def _again(self, known, inputs, outputs, views, stream, addresses):
        """Launches a known plan. None if these addresses do not fit it: `bind` says why."""
        side = None if stream is None else _streams.side_stream(stream, known.device)
        if known.made:
            outputs = dict(outputs)
            for name, (slot, shape, dtype) in known.made.items():
                tensor = known.make(shape, dtype, stream, known.device)
                outputs[name] = tensor
                addresses[slot] = _tensors.part_of(name, tensor, dtype, stream, views)[1]
        if side is not None:
            _streams.keep((*inputs.values(), *outputs.values()), side)
        handle = _streams.launch_stream(stream, known.device)
        if views:
            _streams.wait_for((view.stream for view in views.values()), handle, known.device)
        library = _abi.library()
        error = library.plan_launch_at(known.plan.value, addresses, handle, None)
        if error:
            if library.error_kind(error) == 1:
                library.error_destroy(error)
                return None
            _abi.check(error)
        for name in views:
            if isinstance(outputs.get(name), _array.Array):
                outputs[name].written_on(handle)
        return self._returned(outputs, known.made, known.make)

    def _remember(self, key, known):
        with self._lock:
            if len(self._known) >= self._MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = known

    def _bind(self, inputs, outputs, params, memory_budget, stream=None, seen=None):
        """`seen` has views of tensors that were looked at already."""
        outputs, seen = dict(outputs or {}), seen or {}
        views = {}
        for declared, given in ((self.inputs, inputs), (self.outputs, outputs)):
            dtypes = {t.name: _tensors.DTYPES.index(t.dtype) for t in declared}
            for name, tensor in given.items():
                if name not in dtypes:
                    raise errors.InvalidArgument(f"there is no {name} in {self!r}")
                views[name] = seen.get(name) or _tensors.view_of(name, tensor, dtypes[name],
                                                                 stream)
        shapes = {t: self._shape(t, views, params) for t in self.outputs if t.name not in outputs}
        loaded = self._load(self._place(views, outputs))
        device = None if self.target == "cpu" else _abi.library().loaded_device(loaded.value)
        make = self._maker(inputs)
        for missing, shape in shapes.items():
            dtype = _tensors.DTYPES.index(missing.dtype)
            outputs[missing.name] = make(shape, dtype, stream, device)
            views[missing.name] = _tensors.view_of(missing.name, outputs[missing.name], dtype,
                                                   stream)
        arguments, kept = _tensors.encode(views, params, memory_budget)
        plan = _abi.Handle(_abi.library().plan_destroy)
        _abi.check(_abi.library().bind(loaded.value, ctypes.byref(arguments),
                                       ctypes.byref(plan.value)))
        del kept
        ordered = {t.name: outputs[t.name] for t in self.outputs}
        return Plan(plan, loaded, {**inputs, **outputs}, views.values(), device, ordered)

    def _place(self, views, outputs):
        """The GPU of all tensors, or -1 for the current one. The library does not ask where
        pointers point for the cpu, so that is checked here."""
        on_gpu = self.target != "cpu"
        for name, view in views.items():
            if view.cuda != on_gpu:
                raise errors.InvalidArgument(
                    f"{name} is {'on a GPU' if view.cuda else 'in host memory'}, but the program "
                    f"is for {self.target}",
                    "move it to the GPU" if on_gpu else "move it to the cpu, or compile for a GPU")
            if name in outputs and not view.writable:
                raise errors.InvalidArgument(f"output {name} is read-only",
                                             "pass one that may be written, or none")
        devices = {view.device for view in views.values() if view.device is not None}
        if len(devices) > 1:
            raise errors.InvalidArgument(f"tensors are on several GPUs: {sorted(devices)}")
        return devices.pop() if on_gpu and devices else -1

    def shape_of(self, output, inputs, params=None):
        """The shape that an output has for inputs of these shapes, both by name. No tensor is
        needed. Raises InvalidArgument for shapes that do not fit the program."""
        dtypes = {t.name: _tensors.DTYPES.index(t.dtype) for t in self.inputs}
        views = {name: _tensors.View(None, None, None, dtypes[name], tuple(map(int, shape)), None,
                                     False, None, False)
                 for name, shape in inputs.items() if name in dtypes}
        return self._shape(next(t for t in self.outputs if t.name == output), views, params or {})

    def _shape(self, output, views, params):
        arguments, kept = _tensors.encode(views, params)
        shape = (_abi.i64 * max(len(output.dims), 1))()
        index = len(self.inputs) + self.outputs.index(output)
        _abi.check(_abi.library().program_shape(self._handle.value, ctypes.byref(arguments), index,
                                                shape))
        del kept
        return tuple(shape[:len(output.dims)])
