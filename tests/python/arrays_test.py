"""Arrays that programs take and give on the processor: through DLPack from NumPy, PyTorch, JAX and
a producer made by hand, and attnc's own, which other libraries take."""
import ctypes
import gc
import importlib.util
import os
import sys
import unittest

import numpy
import torch

import attnc

os.environ["JAX_PLATFORMS"] = "cpu"

DOUBLE = {"attnc": 1, "name": "double", "types": {"T": "f32"}, "inputs": {"x": "T[i, j]"},
          "body": ["y[i,j] = x[i,j] + x[i,j]"], "outputs": {"y": "T"}}
FLOAT, BFLOAT, INT, UINT, COMPLEX, BOOL = 2, 4, 0, 1, 5, 6
CPU, CUDA, METAL, CUDA_HOST = 1, 2, 8, 3


def double(dtype="f32"):
    return attnc.compile(DOUBLE, target="cpu", set={"T": dtype})


class Through:
    """Of an array no more than DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


# --- a producer of DLPack, from its header --------------------------------------------------------

Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p),
                ("deleter", Deleter), ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi))


class Producer:
    """Values of a NumPy array with what a test wants to be said of them. `deleted` has the
    addresses with which the deleter was called, `asked` what `__dlpack__` was called with."""

    def __init__(self, values, code=FLOAT, lanes=1, strides=True, offset=0, device=(CPU, 0),
                 version=(1, 0), flags=0):
        self.values, self.device, self.version = values, device, version
        self.deleted, self.asked, self.capsule = [], [], None
        self._deleter = Deleter(self.deleted.append)
        rank, size = values.ndim, values.itemsize
        self._shape = (ctypes.c_int64 * rank)(*values.shape)
        self._strides = (ctypes.c_int64 * rank)(*(s // size for s in values.strides))
        tensor = DLTensor(values.ctypes.data - offset, device, rank, code, 8 * size, lanes,
                          self._shape, self._strides if strides else None, offset)
        if version is None:
            self.managed = DLManagedTensor(tensor, None, self._deleter)
        else:
            self.managed = DLManagedTensorVersioned(version, None, self._deleter, flags, tensor)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)
        if self.version is None and "max_version" in options:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        word = b"dltensor" if self.version is None else b"dltensor_versioned"
        self.capsule = new_capsule(ctypes.addressof(self.managed), word, None)
        return self.capsule


def values(*shape, dtype="f4"):
    return numpy.arange(1, 1 + numpy.prod(shape), dtype=dtype).reshape(shape)


class HandMade(unittest.TestCase):
    def expect_doubled(self, x, out=None, **options):
        producer = Producer(x, **options)
        y = out if out is not None else numpy.empty(x.shape, x.dtype)
        double()(x=producer, out=y)
        numpy.testing.assert_array_equal(y, 2 * x)
        return producer

    def test_capsules_are_used_up_and_deleters_called_once(self):
        for version, word in (((1, 0), b"used_dltensor_versioned"), (None, b"used_dltensor")):
            producer = self.expect_doubled(values(3, 5), version=version)
            self.assertEqual(name_of(producer.capsule), word)
            gc.collect()
            self.assertEqual(producer.deleted, [ctypes.addressof(producer.managed)])

    def test_a_plan_keeps_what_it_reads(self):
        producer, y = Producer(values(3, 5)), numpy.empty((3, 5), "f4")
        plan = double().bind(x=producer, out=y)
        for factor in (1, 10):
            producer.values[:] = factor * values(3, 5)
            plan()
            numpy.testing.assert_array_equal(y, 2 * factor * values(3, 5))
        self.assertEqual(producer.deleted, [])
        del plan
        self.assertEqual(len(producer.deleted), 1)

    def test_calls_like_one_before_take_their_own_arrays(self):
        program = double()
        for factor in (1, 2, 3):
            producer = Producer(factor * values(3, 5))
            numpy.testing.assert_array_equal(program(x=producer, out=numpy.empty((3, 5), "f4")),
                                             2 * factor * values(3, 5))
            self.assertEqual(len(producer.deleted), 1)

    def test_strides_and_offsets_count(self):
        self.expect_doubled(values(3, 5), strides=False)
        self.expect_doubled(values(3, 5), offset=64)
        self.expect_doubled(values(6, 10)[::2, :5])

    def test_nothing_may_lie_nowhere(self):
        producer = Producer(numpy.empty((0, 5), "f4"))
        producer.managed.tensor.data = None
        self.assertEqual(double()(x=producer).shape, (0, 5))

    def test_outputs_are_written_where_the_producer_says_that_they_may_be(self):
        y = Producer(numpy.zeros((3, 5), "f4"))
        self.assertIs(double()(x=values(3, 5), out=y), y)
        numpy.testing.assert_array_equal(y.values, 2 * values(3, 5))
        for options in ({"flags": 1}, {"version": None}):
            y = Producer(numpy.zeros((3, 5), "f4"), **options)
            with self.assertRaisesRegex(attnc.InvalidArgument, "output y is read-only"):
                double()(x=values(3, 5), out=y)
            self.assertEqual(len(y.deleted), 1)
            self.assertFalse(y.values.any())

    def test_the_host_is_asked_without_a_stream_and_with_the_version_that_is_read(self):
        for device in ((CPU, 0), (CUDA_HOST, 0)):
            self.assertEqual(self.expect_doubled(values(3, 5), device=device).asked,
                             [{"max_version": (1, 0)}])

    def test_what_has_no_equivalent_is_named(self):
        for options, reason in (({"code": COMPLEX}, "x: attnc has no element type complex32"),
                                ({"code": UINT}, "x: attnc has no element type uint32"),
                                ({"code": 17}, "x: attnc has no element type type 17 of 32"),
                                ({"lanes": 4}, "x: attnc has no element type float32x4"),
                                ({"version": (2, 0)}, "x is of version 2 of DLPack"),
                                ({"code": INT}, "x: is i32, expected f32")):
            producer = Producer(values(3, 5), **options)
            with self.subTest(reason), self.assertRaisesRegex(attnc.InvalidArgument, reason):
                double()(x=producer)
            self.assertEqual(len(producer.deleted), 1, reason)

    def test_arrays_elsewhere_are_refused(self):
        producer = Producer(values(3, 5), device=(METAL, 0))
        with self.assertRaisesRegex(attnc.InvalidArgument, "x is on a device of DLPack's type 8"):
            double()(x=producer)
        self.assertEqual((producer.asked, producer.deleted), ([], []))
        producer = Producer(values(3, 5), device=(CUDA, 0))
        with self.assertRaisesRegex(attnc.InvalidArgument, "x is on a GPU, but the program is"):
            double()(x=producer)
        self.assertEqual(len(producer.deleted), 1)

    def test_a_capsule_is_taken_once(self):
        class Again(Producer):
            def __dlpack__(self, **options):
                return self.capsule or super().__dlpack__(**options)
        producer = Again(values(3, 5))
        double()(x=producer)
        with self.assertRaisesRegex(attnc.InvalidArgument, "x: .* is no tensor of DLPack"):
            double()(x=producer)
        self.assertEqual(len(producer.deleted), 1)

    def test_what_a_producer_raises_is_said_of_the_tensor(self):
        class Broken(Producer):
            def __dlpack__(self, **options):
                raise BufferError("it is sparse")
        with self.assertRaisesRegex(attnc.InvalidArgument, "x: Broken is not given through "
                                                           "DLPack: it is sparse"):
            double()(x=Broken(values(3, 5)))

    def test_elements_are_of_all_types_that_attnc_has(self):
        for dtype, kind, code in (("f16", "f2", FLOAT), ("f64", "f8", FLOAT), ("i32", "i4", INT),
                                  ("i64", "i8", INT)):
            x = values(3, 5, dtype=kind)
            y = double(dtype)(x=Producer(x, code=code), out=numpy.empty_like(x))
            numpy.testing.assert_array_equal(y, 2 * x)
        ones = numpy.full((3, 5), 0x3f80, "u2")  # bf16
        for code in (BFLOAT, UINT):
            y = double("bf16")(x=Producer(ones, code=code), out=numpy.empty_like(ones))
            numpy.testing.assert_array_equal(y, 0x4000)
        chosen = attnc.compile(
            {"attnc": 1, "name": "chosen", "inputs": {"m": "bool[i, j]", "x": "f32[i, j]"},
             "body": ["y[i,j] = where(m[i,j], x[i,j], 0)"], "outputs": {"y": "f32"}}, target="cpu")
        mask = values(3, 5) % 2 == 0
        y = chosen(m=Producer(mask, code=BOOL), x=values(3, 5), out=numpy.empty((3, 5), "f4"))
        numpy.testing.assert_array_equal(y, numpy.where(mask, values(3, 5), 0))


class Libraries(unittest.TestCase):
    def test_numpy_through_dlpack(self):
        for x in (values(3, 5), values(6, 10)[::2, 2:7]):
            y = double()(x=Through(x))
            self.assertIsInstance(y, attnc.Array)
            numpy.testing.assert_array_equal(numpy.from_dlpack(y), 2 * x)

    def test_strides_that_go_backwards_are_refused(self):
        with self.assertRaisesRegex(attnc.InvalidArgument, "x: the stride of dim i is -5"):
            double()(x=Through(values(3, 5)[::-1]))

    def test_numpy_that_may_not_be_written(self):
        y = numpy.zeros((3, 5), "f4")
        double()(x=values(3, 5), out=Through(y))
        numpy.testing.assert_array_equal(y, 2 * values(3, 5))
        y.flags.writeable = False
        for out in (y, Through(y)):
            with self.assertRaisesRegex(attnc.InvalidArgument, "output y is read-only"):
                double()(x=values(3, 5), out=out)

    def test_torch_through_dlpack(self):
        for dtype, own in ((torch.float32, "f32"), (torch.bfloat16, "bf16"),
                           (torch.float16, "f16")):
            x = torch.arange(60).reshape(6, 10).to(dtype)[1::2, 3:8]
            y = double(own)(x=Through(x))
            torch.testing.assert_close(torch.from_dlpack(y), 2 * x, rtol=0, atol=0)

    def test_results_are_as_the_first_input(self):
        x, program = values(3, 5), double()
        for _ in range(2):  # bound, and known
            self.assertIs(type(program(x=x)), numpy.ndarray)
            self.assertIs(type(program(x=torch.from_numpy(x))), torch.Tensor)
            self.assertIs(type(program(x=Through(x))), attnc.Array)

    def test_masked_arrays_are_refused(self):
        class Masked:
            __array_interface__ = {**values(3, 5).__array_interface__, "mask": values(3, 5)}
        with self.assertRaisesRegex(attnc.InvalidArgument, "x has a mask"):
            double()(x=Masked())


class OwnArrays(unittest.TestCase):
    def setUp(self):
        self.y = double()(x=Through(values(3, 5)))

    def test_say_what_they_are(self):
        self.assertEqual((self.y.shape, self.y.dtype, self.y.device), ((3, 5), "f32", None))
        self.assertEqual(repr(self.y), "<attnc array f32[3, 5] on the host>")
        self.assertFalse(hasattr(self.y, "__cuda_array_interface__"))

    def test_are_taken_by_programs(self):
        numpy.testing.assert_array_equal(double()(x=self.y), 4 * values(3, 5))
        self.assertIs(double()(x=values(3, 5), out=self.y), self.y)

    def test_are_kept_by_who_has_them(self):
        for take in (numpy.from_dlpack, numpy.asarray, torch.from_dlpack):
            taken = take(double()(x=Through(values(3, 5))))
            gc.collect()
            numpy.testing.assert_array_equal(taken, 2 * values(3, 5))

    def test_are_freed_when_nobody_has_them(self):
        for version in ((1, 0), None):
            before = sys.getrefcount(self.y)
            taken = numpy.from_dlpack(Through(self.y))
            capsule = self.y.__dlpack__(max_version=version)
            self.assertEqual(sys.getrefcount(self.y), before + 2)
            del taken, capsule
            self.assertEqual(sys.getrefcount(self.y), before)

    def test_capsules_are_of_the_version_that_is_asked_for(self):
        for version, word in ((None, b"dltensor"), ((0, 8), b"dltensor"),
                              ((1, 1), b"dltensor_versioned")):
            self.assertEqual(name_of(self.y.__dlpack__(max_version=version)), word)

    def test_are_not_copied(self):
        for options in ({"copy": True}, {"dl_device": (CUDA, 0)}):
            with self.assertRaises(BufferError):
                self.y.__dlpack__(**options)

    def test_a_scalar_and_nothing(self):
        total = attnc.compile({"attnc": 1, "name": "total", "inputs": {"x": "f32[i, j]"},
                               "body": ["y = sum(i, sum(j, x))"], "outputs": {"y": "f32"}},
                              target="cpu")
        self.assertEqual(numpy.from_dlpack(total(x=Through(values(3, 5)))), 120)
        self.assertEqual(numpy.from_dlpack(double()(x=Through(values(0, 5)))).shape, (0, 5))


@unittest.skipUnless(importlib.util.find_spec("jax"), "JAX is in requirements.txt")
class Jax(unittest.TestCase):
    def test_arrays_are_taken_and_given(self):
        import jax
        for dtype, own in (("float32", "f32"), ("bfloat16", "bf16"), ("float16", "f16")):
            x, program = jax.numpy.asarray(values(3, 5), dtype), double(own)
            for _ in range(2):
                y = program(x=x)
                self.assertIsInstance(y, jax.Array)
                self.assertEqual(y.dtype, x.dtype)
                numpy.testing.assert_array_equal(y, 2 * x)

    def test_what_is_not_computed_yet_is_waited_for(self):
        import jax
        slow = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda _, y: y @ y / 500, x))
        x = slow(jax.numpy.ones((500, 500)))
        numpy.testing.assert_allclose(double()(x=x), 2, rtol=1e-3)

    def test_are_not_written(self):
        import jax
        y = jax.numpy.zeros((3, 5))
        with self.assertRaisesRegex(attnc.InvalidArgument, "output y is read-only"):
            double()(x=values(3, 5), out=y)
        y.delete()
        with self.assertRaisesRegex(attnc.InvalidArgument, "x: ArrayImpl is not given"):
            double()(x=y)


if __name__ == "__main__":
    unittest.main()
