#!/usr/bin/env python3
"""Calls from Python on a GPU that is not there: a driver that counts stands for CUDA's, and a few
classes for PyTorch. Needs NVRTC.

usage: call_path_test.py LIBCUDA SPEC_DIRECTORY [unittest's arguments]
"""
import contextlib
import ctypes
import json
import math
import pathlib
import sys
import types
import unittest

# Whoever asks for libcuda.so.1 from here on gets this one.
FAKE = ctypes.CDLL(sys.argv.pop(1), mode=ctypes.RTLD_GLOBAL)
SPECS = pathlib.Path(sys.argv.pop(1))
FAKE.fakeCalls.argtypes, FAKE.fakeCalls.restype = [ctypes.c_char_p], ctypes.c_long
FAKE.fakeLaunches.restype = ctypes.c_size_t
FAKE.fakeLaunch.argtypes = [ctypes.c_size_t]


class Launch(ctypes.Structure):
    """FakeLaunch of fake_driver.h."""
    _fields_ = [("symbol", ctypes.c_char * 64), ("grid", ctypes.c_uint * 3),
                ("threads", ctypes.c_uint), ("shared", ctypes.c_uint), ("cluster", ctypes.c_uint),
                ("starts_early", ctypes.c_bool),
                ("stream", ctypes.c_void_p), ("bytes", ctypes.c_size_t),
                ("arguments", ctypes.c_ubyte * 4096)]


FAKE.fakeLaunch.restype = ctypes.POINTER(Launch)


def launches():
    """Name, stream and the words of the arguments of each launch since the last reset."""
    return [(each.symbol.decode(), each.stream, bytes(each.arguments[:each.bytes]))
            for each in (FAKE.fakeLaunch(n).contents for n in range(FAKE.fakeLaunches()))]


def calls(name):
    return FAKE.fakeCalls(name.encode())


class Device:
    type, index = "cuda", 0


class Dtype(str):
    """As PyTorch prints them."""


BF16, F32 = Dtype("torch.bfloat16"), Dtype("torch.float32")


class Tensor:
    """In what the fake driver calls device memory, contiguous."""
    device = Device()

    def __init__(self, shape, offset=0, of=None, dtype=BF16):
        self.shape, self.stream, self.recorded, self.dtype = tuple(shape), of, [], dtype
        address, size = ctypes.c_ulonglong(), {BF16: 2, F32: 4}[dtype]
        FAKE.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size * math.prod(shape) + offset))
        self.address = address.value + offset

    def data_ptr(self):
        return self.address

    def stride(self):
        return tuple(math.prod(self.shape[axis + 1:]) for axis in range(len(self.shape)))

    def is_neg(self):
        return False

    is_conj = is_neg

    def record_stream(self, stream):
        self.recorded.append(stream.cuda_stream)

    def holds(self, argument):
        return self.address.to_bytes(8, "little") in argument


class Stream:
    def __init__(self, handle, device=0):
        self.cuda_stream = handle


def fake_torch():
    torch = types.ModuleType("torch")
    current = [Stream(0x700)]

    @contextlib.contextmanager
    def on(stream):
        current.append(stream)
        yield
        current.pop()

    torch.bfloat16, torch.float32 = BF16, F32
    torch.empty = lambda shape, dtype, device: Tensor(shape, of=current[-1].cuda_stream,
                                                      dtype=dtype)
    torch.cuda = types.SimpleNamespace(
        is_initialized=lambda: True, current_stream=lambda device: current[-1], stream=on,
        ExternalStream=Stream, default_stream=lambda device: Stream(0))
    return torch


sys.modules["torch"] = fake_torch()
import attnc  # noqa: E402  (after what it looks for)

NAMES = ("q", "k", "v")


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.compiled = attnc.compile(SPECS / "full.json", target="sm_90a")
        except attnc.Unavailable as error:
            raise unittest.SkipTest(error.message)

    def setUp(self):
        self.program = self.compiled
        self.shape = (2, 4, 300, 64)
        self.tensors = {name: Tensor(self.shape) for name in NAMES}
        FAKE.fakeReset()

    def test_loading_before_the_first_call_is_what_the_call_uses(self):
        program = attnc.compile(SPECS / "full.json", target="sm_80")
        FAKE.fakeReset()
        loaded = program.load()
        modules = calls("cuModuleLoadDataEx")
        self.assertGreater(modules, 0)
        program(**self.tensors)
        self.assertEqual(calls("cuModuleLoadDataEx"), modules)
        self.assertIs(program.load(0), loaded)
        self.assertIs(program.load(), loaded)

    def test_a_call_like_one_before_only_launches(self):
        first = self.program(**self.tensors)
        FAKE.fakeReset()
        others = {name: Tensor(self.shape) for name in NAMES}
        second = self.program(**others)
        self.assertIsNot(second, first)
        self.assertEqual(second.shape, self.shape)
        for name in ("cuPointerGetAttribute", "cuTensorMapEncodeTiled", "cuModuleLoadDataEx"):
            self.assertEqual(calls(name), 0, name)
        [(_, stream, arguments)] = launches()
        self.assertEqual(stream, 0x700)
        for tensor in (*others.values(), second):
            self.assertTrue(tensor.holds(arguments))
        for tensor in (*self.tensors.values(), first):
            self.assertFalse(tensor.holds(arguments))

    def test_given_outputs_are_written(self):
        for _ in range(2):
            o = Tensor(self.shape)
            self.assertIs(self.program(**self.tensors, out=o), o)
            self.assertTrue(o.holds(launches()[-1][2]))

    def test_backward_is_launched_on_what_forward_has_saved(self):
        spec = json.loads((SPECS / "full.json").read_text(encoding="utf-8"))
        program = attnc.compile({**spec, "grad": list(NAMES)}, target="sm_90a")
        results = program(**self.tensors)
        saved = {name: tensor for name, tensor in results.items() if name.startswith("saved_")}
        backward, known = program.backward, {**self.tensors, **results}
        known["grad_o"] = Tensor(self.shape)
        for _ in range(2):  # bound, and known
            FAKE.fakeReset()
            gradients = backward.launch({t.name: known[t.name] for t in backward.inputs})
            self.assertEqual(list(gradients), ["grad_" + name for name in NAMES])
            for tensor in (*saved.values(), *gradients.values()):
                self.assertTrue(any(tensor.holds(arguments) for _, _, arguments in launches()))
            self.assertEqual({stream for _, stream, _ in launches()}, {0x700})

    def test_params_make_another_call(self):
        def scale_of(value):
            FAKE.fakeReset()
            self.program(**self.tensors, scale=value)
            return launches()[0][2]
        half, third, again = scale_of(0.5), scale_of(0.25), scale_of(0.5)
        strip = len(half)
        self.assertEqual(strip, len(third))
        self.assertIn(bytes(ctypes.c_float(0.5)), again)
        self.assertNotIn(bytes(ctypes.c_float(0.5)), third)

    def test_tensors_that_are_less_aligned_take_the_way_over_copies(self):
        self.program(**self.tensors)
        self.assertEqual(len(launches()), 1)
        FAKE.fakeReset()
        self.tensors["k"] = Tensor(self.shape, offset=2)
        for _ in range(2):
            FAKE.fakeReset()
            self.program(**self.tensors)
            self.assertGreater(len(launches()), 1)
        FAKE.fakeReset()
        self.tensors["k"] = Tensor(self.shape)
        self.program(**self.tensors)
        self.assertEqual(len(launches()), 1)

    def test_what_does_not_fit_is_said_after_a_call_that_did(self):
        self.program(**self.tensors)
        with self.assertRaisesRegex(attnc.InvalidArgument, "output o overlaps input k"):
            for _ in range(2):
                self.program(**self.tensors, out=self.tensors["k"])
        o = Tensor(self.shape)
        self.program(**self.tensors, out=o)
        o.address = self.tensors["q"].address  # the same layout
        with self.assertRaisesRegex(attnc.InvalidArgument, "output o overlaps input q"):
            self.program(**self.tensors, out=o)

    def test_a_side_stream_is_recorded_in_all_tensors(self):
        for stream in (Stream(0x900), 0x900):  # PyTorch's, and a plain CUstream
            for _ in range(2):  # bound, and known
                FAKE.fakeReset()
                tensors = {name: Tensor(self.shape) for name in NAMES}
                made = self.program(**tensors, stream=stream)
                self.assertEqual(launches()[0][1], 0x900)
                for tensor in tensors.values():
                    self.assertEqual(tensor.recorded, [0x900])
                # Of the side stream's own memory, and next used on the current one.
                self.assertEqual(made.stream, 0x900)
                self.assertIn(0x700, made.recorded)
        o = Tensor(self.shape)
        self.program(**self.tensors, out=o, stream=0)  # the default one, while another is current
        self.assertEqual(o.recorded, [0])
        self.setUp()
        o = Tensor(self.shape)
        plan = self.program.bind(**self.tensors, out=o)
        plan(stream=Stream(0x900))
        self.assertEqual(o.recorded, [0x900])
        self.assertEqual(self.tensors["q"].recorded, [0x900])

    def test_the_current_stream_needs_no_record(self):
        for stream in (None, Stream(0x700), 0x700):
            for _ in range(2):
                made = self.program(**self.tensors, stream=stream)
                self.assertEqual(made.recorded, [])
                self.assertEqual(made.stream, 0x700)
        for tensor in self.tensors.values():
            self.assertEqual(tensor.recorded, [])


if __name__ == "__main__":
    unittest.main()
