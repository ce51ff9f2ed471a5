"""Arrays on a GPU that is not there, of libraries that are not there: which streams a launch waits
for, what producers hear of its stream, and whose the outputs are. Needs NVRTC.

usage: streams_test.py LIBCUDA [unittest's arguments]
"""
import contextlib
import ctypes
import math
import sys
import types
import unittest
from unittest import mock

# Whoever asks for libcuda.so.1 from here on gets this one.
FAKE = ctypes.CDLL(sys.argv.pop(1), mode=ctypes.RTLD_GLOBAL)
FAKE.fakeLaunches.restype = ctypes.c_size_t

import attnc  # noqa: E402  (after what it looks for)
from attnc import _cuda  # noqa: E402

DOUBLE = {"attnc": 1, "name": "double", "inputs": {"x": "f32[i, j]"},
          "body": ["y[i,j] = x[i,j] + x[i,j]"], "outputs": {"y": "f32"}}
SHAPE = (30, 64)
RECORD, WAIT, LAUNCHED = "cuEventRecord", "cuStreamWaitEvent", "launches before"
DEFAULT, OF_THREAD = 1, 2


class Driver:
    """What attnc's Python calls of the driver: streams of events are noted, with the number of
    launches before."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, arguments))
            if name == WAIT:
                self.calls.append((LAUNCHED, FAKE.fakeLaunches()))
                return 0
            return getattr(FAKE, name)(*arguments)
        return call

    def waits(self):
        """Producer, stream and launches before, of each wait."""
        of = {name: [arguments for each, arguments in self.calls if each == name]
              for name in (RECORD, WAIT, LAUNCHED)}
        return [(record[1].value, wait[0].value, launched)
                for record, wait, launched in zip(of[RECORD], of[WAIT], of[LAUNCHED])]

    def names(self):
        return [name for name, _ in self.calls]


def memory(shape):
    address = ctypes.c_ulonglong()
    FAKE.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * max(math.prod(shape), 1)))
    return address.value


class Array:
    """f32, as Numba's arrays are: they do not say which GPU they are on."""

    def __init__(self, shape=SHAPE, read_only=False, **more):
        self.__cuda_array_interface__ = {
            "version": 3, "typestr": "<f4", "shape": shape, "strides": None,
            "data": (memory(shape), read_only), **more}


class Taken:
    """What only DLPack gives. The stream that it was asked for, and whether it was given back."""

    def __init__(self):
        self._array, self.streams = attnc.Array(SHAPE, "f32", 0), []

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __dlpack__(self, *, stream, max_version=None):
        self.streams.append(stream)
        return self._array.__dlpack__(stream=stream, max_version=max_version)


class Cupy(types.ModuleType):
    """As much of CuPy as attnc uses."""

    class ndarray(Array):
        def __init__(self, of):
            super().__init__(stream=of)
            self.of, self.device, self.shape = of, types.SimpleNamespace(id=0), SHAPE

    def __init__(self):
        super().__init__("cupy")
        self.streams = [0x700]
        self.cuda = types.SimpleNamespace(
            get_current_stream=lambda: types.SimpleNamespace(ptr=self.streams[-1]),
            Device=contextlib.nullcontext, ExternalStream=self._on)

    @contextlib.contextmanager
    def _on(self, handle):
        self.streams.append(handle)
        yield
        self.streams.pop()

    def empty(self, shape, dtype):
        return self.ndarray(self.streams[-1])


class OnGpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.program = attnc.compile(DOUBLE, target="sm_90a")
        except attnc.Unavailable as error:
            raise unittest.SkipTest(error.message)

    def setUp(self):
        self.driver = Driver()
        patched = mock.patch.object(_cuda, "_driver", lambda: self.driver)
        patched.start()
        self.addCleanup(patched.stop)
        FAKE.fakeReset()

    def test_a_launch_waits_for_the_stream_that_writes_its_input(self):
        for producer, stream, heard in ((0x500, None, DEFAULT), (OF_THREAD, None, DEFAULT),
                                        (0x500, 0x900, 0x900), (DEFAULT, 0x900, 0x900)):
            y = Array()
            for _ in range(2):  # bound, and known
                self.driver.calls.clear()
                FAKE.fakeReset()
                self.program(x=Array(stream=producer), out=y, stream=stream)
                self.assertEqual(self.driver.waits(), [(producer, heard, 0)])
                self.assertEqual(FAKE.fakeLaunches(), 1)
                self.assertEqual(self.driver.names().count("cuEventDestroy_v2"), 1)

    def test_it_waits_for_no_stream_but_others(self):
        for producer, stream in ((None, None), (DEFAULT, None), (DEFAULT, 0), (0x900, 0x900)):
            for _ in range(2):
                self.program(x=Array(stream=producer), out=Array(), stream=stream)
        self.assertEqual(self.driver.names(), [])

    def test_it_waits_for_what_still_uses_the_output(self):
        self.program(x=Array(), out=Array(stream=0x500))
        self.assertEqual(self.driver.waits(), [(0x500, DEFAULT, 0)])

    def test_a_plan_waits_at_each_launch(self):
        plan = self.program.bind(x=Array(stream=0x500), out=Array())
        self.assertEqual(self.driver.waits(), [])
        plan()
        plan(stream=0x900)
        self.assertEqual(self.driver.waits(), [(0x500, DEFAULT, 0), (0x500, 0x900, 1)])

    def test_what_cannot_be_right_is_refused(self):
        for x, y, reason in (
                (Array(mask=Array()), Array(), "x has a mask"),
                (Array(stream=0), Array(), "x is written on stream 0, which can mean two"),
                (Array(), Array(read_only=True), "output y is read-only"),
                (Array(data=None), Array(), "x: does not say where its data are")):
            with self.subTest(reason), self.assertRaisesRegex(attnc.InvalidArgument, reason):
                self.program(x=x, out=y)
        self.assertEqual(FAKE.fakeLaunches(), 0)

    def test_nothing_may_lie_nowhere(self):
        for address in (0, None):
            self.program(x=Array((0, 64), data=(address, False)), out=Array((0, 64)))

    def test_producers_of_dlpack_hear_of_the_launchs_stream(self):
        for stream, heard in ((None, DEFAULT), (0, DEFAULT), (OF_THREAD, OF_THREAD),
                              (0x900, 0x900)):
            for _ in range(2):
                x = Taken()
                self.program(x=x, out=Array(), stream=stream)
                self.assertEqual(x.streams, [heard])

    def test_an_interface_that_is_silent_about_streams_gives_way_to_dlpack(self):
        class Old(Taken):
            __cuda_array_interface__ = {"version": 2}
        x = Old()
        self.program(x=x, out=Array(), stream=0x900)
        self.assertEqual(x.streams, [0x900])

    def test_own_outputs_say_which_stream_writes_them(self):
        for _ in range(2):
            y = self.program(x=Array(), stream=0x900)
            self.assertIs(type(y), attnc.Array)
            self.assertEqual((y.device, y.shape), (0, SHAPE))
            self.assertEqual(y.__cuda_array_interface__["stream"], 0x900)
            self.assertFalse(hasattr(y, "__array_interface__"))
            self.assertEqual(y.__dlpack_device__(), (2, 0))
        for stream, heard in ((None, [(0x900, DEFAULT, 2)]), (0x500, [(0x900, 0x500, 2)]),
                              (0x900, []), (-1, [])):
            self.driver.calls.clear()
            y.__dlpack__(stream=stream)
            self.assertEqual(self.driver.waits(), heard)
        self.driver.calls.clear()
        self.program(x=y, out=attnc.Array(SHAPE, "f32", 0), stream=0x500)
        self.assertIn((0x900, 0x500, 2), self.driver.waits())

    def test_own_memory_is_freed(self):
        self.program(x=Array())
        self.assertEqual(self.driver.names().count("cuMemAlloc_v2"), 1)
        self.assertEqual(self.driver.names().count("cuMemFree_v2"), 1)

    def test_cupys_outputs_are_of_the_launchs_stream(self):
        cupy = Cupy()
        with mock.patch.dict(sys.modules, cupy=cupy):
            for stream, own in ((None, 0x700), (0x900, 0x900)):
                for _ in range(2):
                    y = self.program(x=cupy.ndarray(None), stream=stream)
                    self.assertIs(type(y), cupy.ndarray)
                    self.assertEqual(y.of, own)


if __name__ == "__main__":
    unittest.main()
