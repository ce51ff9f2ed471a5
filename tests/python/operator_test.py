"""attnc.torch.op and attention, on the processor: numbers beside PyTorch's, and what its transforms
ask of an operator."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import attnc
import attnc.torch

# Sums of a few hundred products of f32, in another order than PyTorch's.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def draw(*shape, **options):
    return torch.randn(*shape, **options)


class Calls(TorchDispatchMode):
    """The names of the operations of attnc that are called within."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        if function.namespace == "attnc":
            self.names.append(function.name().removeprefix("attnc::"))
        return function(*arguments, **(named or {}))


def attention_inputs(length=20, d=16, **options):
    return [draw(2, 3, length, d, **options) for _ in range(3)]


class Operator(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.causal = attnc.torch.op("causal")

    def reference(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def test_computes_what_pytorch_does_for_any_head_dim_and_type(self):
        for d in (8, 16, 40):
            q, k, v = attention_inputs(d=d)
            torch.testing.assert_close(self.causal(q, k, v), self.reference(q, k, v), **CLOSE)
        q, k, v = attention_inputs(dtype=torch.bfloat16)
        self.assertEqual(self.causal(q, k, v).dtype, torch.bfloat16)
        # The weights and the result are rounded to 8 bits.
        torch.testing.assert_close(self.causal(q, k, v), self.reference(q, k, v), rtol=2e-2,
                                   atol=2e-2)

    def test_is_the_same_operator_when_asked_for_again(self):
        self.assertIs(self.causal, attnc.torch.op("causal"))
        self.assertIsNot(self.causal, attnc.torch.op("causal", grad=["q"]))
        named = attnc.torch.op("full", name="of_a_name")
        self.assertIs(named, attnc.torch.op("full", name="of_a_name"))
        self.assertTrue(hasattr(torch.ops.attnc, "of_a_name"))
        with self.assertRaisesRegex(attnc.InvalidArgument, "another name"):
            attnc.torch.op("causal", name="of_a_name")

    def test_takes_inputs_by_name_and_params(self):
        q, k, v = attention_inputs()
        expected = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.5)
        torch.testing.assert_close(self.causal(q, v=v, k=k, scale=0.5), expected, **CLOSE)

    def test_takes_views_of_any_strides(self):
        q, k, v = (draw(2, 20, 16, 3).permute(0, 3, 1, 2) for _ in range(3))
        columns = draw(2, 3, 16, 20).mT
        for _ in range(2):
            torch.testing.assert_close(self.causal(q, k, v), self.reference(q, k, v), **CLOSE)
            torch.testing.assert_close(self.causal(columns, k, v),
                                       self.reference(columns, k, v), **CLOSE)

    def test_takes_tensors_that_stand_for_others(self):
        q, k, v = attention_inputs()
        for _ in range(3):
            for view in (torch._neg_view(q), torch._efficientzerotensor(q.shape)):
                torch.testing.assert_close(self.causal(view, k, v),
                                           self.reference(view.clone(), k, v), **CLOSE)

    def test_has_several_results(self):
        q, k, v = attention_inputs()
        operator, scores = attnc.torch.op("lse", set={"T": "f32"}), q @ k.mT / 4
        for _ in range(2):
            o, lse = operator(q, k, v)
            torch.testing.assert_close(lse, scores.logsumexp(-1), **CLOSE)
            torch.testing.assert_close(o, scores.softmax(-1) @ v, **CLOSE)

    def test_has_conditions_as_results(self):
        above = attnc.torch.op({"attnc": 1, "name": "above", "inputs": {"x": "f32[i]"},
                                "params": {"least": "f32 = 0"}, "body": ["o = x > least"],
                                "outputs": {"o": "bool"}})
        x = draw(9)
        for _ in range(2):
            self.assertEqual(above(x).dtype, torch.bool)
            torch.testing.assert_close(above(x, least=0.5), x > 0.5)

    def test_a_call_like_one_before_has_its_own_inputs_and_params(self):
        for scale in (0.5, 1, 1.0, 0.5, None, 2.0):
            inputs = attention_inputs()
            torch.testing.assert_close(
                self.causal(*inputs, scale=scale),
                F.scaled_dot_product_attention(*inputs, is_causal=True, scale=scale), **CLOSE)
        signed = attnc.torch.op({"attnc": 1, "name": "signed", "inputs": {"x": "f32[i]"},
                                 "params": {"a": "f32"}, "body": ["o = x / a"],
                                 "outputs": {"o": "f32"}})
        for zero in (0.0, -0.0, 0.0):
            self.assertEqual(signed(torch.ones(1), a=zero).item(),
                             float("inf") if str(zero) == "0.0" else float("-inf"))

    def test_addresses_of_another_alignment(self):
        _, k, v = attention_inputs()
        whole = draw(2 * 3 * 20 * 16 + 64)
        for offset in (0, 1, 4, 0, 2, 16, 1):
            q = whole[offset:offset + 2 * 3 * 20 * 16].view(2, 3, 20, 16)
            torch.testing.assert_close(self.causal(q, k, v), self.reference(q, k, v), **CLOSE)

    def test_modes_and_traces_see_the_operator(self):
        inputs = attention_inputs()
        self.causal(*inputs)
        with Calls() as calls:
            self.causal(*inputs)
        self.assertEqual(calls.names, [self.causal.name])
        traced = torch.jit.trace(lambda q, k, v: self.causal(q, k, v), tuple(inputs))
        others = attention_inputs()
        torch.testing.assert_close(traced(*others), self.reference(*others), **CLOSE)

    @unittest.skipUnless(attnc.torch.native, "libattnc_torch.so is not there")
    def test_a_call_like_one_before_is_made_without_python(self):
        inputs = attention_inputs()
        results = self.causal._with_saved(*inputs, None)
        calls = (lambda: self.causal(*inputs), lambda: self.causal._forward(*inputs),
                 lambda: self.causal._with_saved(*inputs, None)[0],
                 lambda: self.causal._backward(*inputs, results, results[:1], None)[0])
        expected = [call() for call in calls]
        programs = "attnc._programs.Program."
        with unittest.mock.patch(programs + "_bind", side_effect=AssertionError), \
                unittest.mock.patch(programs + "launch", side_effect=AssertionError):
            for call, result in zip(calls, expected):
                torch.testing.assert_close(call(), result)
            with self.assertRaises(AssertionError):
                self.causal(*attention_inputs(19))

    def test_gradients_are_those_of_pytorch(self):
        inputs = attention_inputs(requires_grad=True)
        o, expected = self.causal(*inputs), self.reference(*inputs)
        grad = draw(*o.shape)
        for own, other in zip(torch.autograd.grad(o, inputs, grad),
                              torch.autograd.grad(expected, inputs, grad)):
            torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)

    def test_gradients_are_those_of_finite_differences(self):
        inputs = [draw(1, 2, 5, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
        self.assertTrue(torch.autograd.gradcheck(self.causal, inputs))

    def test_a_sum_has_a_gradient(self):  # which is one number, seen as a tensor
        q, k, v = attention_inputs(requires_grad=True)
        self.causal(q, k, v).sum().backward()
        expected = torch.autograd.grad(self.reference(q, k, v).sum(), (q, k, v))
        for own, other in zip((q.grad, k.grad, v.grad), expected):
            torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)

    def test_a_gradient_that_nobody_asked_for_is_an_error(self):
        some = attnc.torch.op("causal", grad=["q"])
        q, k, v = attention_inputs(requires_grad=True)
        with self.assertRaisesRegex(attnc.InvalidArgument, "k, v requires a gradient"):
            some(q, k, v)
        with self.assertRaisesRegex(attnc.InvalidArgument, "none"):
            attnc.torch.op("causal", grad=())(q, k, v)
        some(q, k.detach(), v.detach()).sum().backward()
        with torch.no_grad():
            some(q, k, v)

    def test_second_derivatives_are_an_error(self):
        q, k, v = attention_inputs(requires_grad=True)
        grad, = torch.autograd.grad(self.causal(q, k, v).square().sum(), q, create_graph=True)
        with self.assertRaisesRegex(attnc.InvalidArgument, "not differentiated again"):
            grad.sum().backward()
        with self.assertRaisesRegex(attnc.InvalidArgument, "not differentiated again"):
            torch.func.grad(lambda q: torch.func.grad(self.loss)(q, k, v).sum())(q.detach())

    def loss(self, *inputs):
        return self.causal(*inputs).square().sum()

    def reference_loss(self, *inputs):
        return self.reference(*inputs).square().sum()

    def test_transforms_of_functions_that_go_backward(self):
        inputs, every = attention_inputs(), (0, 1, 2)
        for own, other in (
                (torch.func.grad(self.loss, every), torch.func.grad(self.reference_loss, every)),
                (torch.func.jacrev(self.causal, every), torch.func.jacrev(self.reference, every)),
                (lambda *t: torch.func.vjp(self.causal, *t)[1](t[0]),
                 lambda *t: torch.func.vjp(self.reference, *t)[1](t[0]))):
            for x, y in zip(own(*inputs), other(*inputs)):
                torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)
        some = attnc.torch.op("causal", grad=["q"])
        with self.assertRaisesRegex(attnc.InvalidArgument, "k requires a gradient"):
            torch.func.grad(lambda k: some(inputs[0], k, inputs[2]).sum())(inputs[1])

    def test_transforms_of_functions_that_go_forward_are_an_error(self):
        q, k, v = attention_inputs()

        def of_q(q):
            return self.causal(q, k, v)

        def of_dual_numbers():
            with forward_ad.dual_level():
                of_q(forward_ad.make_dual(q, q))
        for call in (lambda: torch.func.jvp(of_q, (q,), (q,)), lambda: torch.func.jacfwd(of_q)(q),
                     lambda: torch.func.hessian(of_q)(q), of_dual_numbers):
            with self.assertRaisesRegex(attnc.InvalidArgument, "forward mode"):
                call()
        with forward_ad.dual_level():  # of other tensors
            torch.testing.assert_close(of_q(q), self.reference(q, k, v), **CLOSE)

    def test_an_empty_batch_has_a_gradient(self):
        q = draw(0, 2, 5, 8, requires_grad=True)
        self.causal(q, q, q).sum().backward()
        self.assertEqual(q.grad.shape, q.shape)

    def test_keeps_its_spec(self):
        content = {"attnc": 1, "name": "twice", "inputs": {"x": "f32[i]"}, "body": ["o = x * 2"],
                   "outputs": {"o": "f32"}}
        twice, x = attnc.torch.op(content), draw(3)
        content["body"] = ["o = x * 3"]
        torch.testing.assert_close(twice(x), x * 2)

    def test_opcheck(self):
        for grad in (False, True):
            inputs = attention_inputs(requires_grad=grad)
            torch.library.opcheck(self.causal._forward, (*inputs, None))
            torch.library.opcheck(self.causal._with_saved, (*inputs, 0.3))
        inputs = attention_inputs()
        results = self.causal._with_saved(*inputs, None)
        torch.library.opcheck(self.causal._backward, (*inputs, results, [results[0]], None))

    def test_compiles_without_a_break_and_once_for_all_lengths(self):
        compiled = torch.compile(lambda q, k, v: self.causal(q, k, v) * 2, fullgraph=True,
                                 dynamic=True, backend="aot_eager")
        compiled(*attention_inputs(20, requires_grad=True))
        with torch._dynamo.config.patch(error_on_recompile=True):
            for length in (21, 64, 7):
                inputs = attention_inputs(length, requires_grad=True)
                o = compiled(*inputs)
                o.sum().backward()
                torch.testing.assert_close(o, 2 * self.reference(*inputs), **CLOSE)

    def test_exports(self):
        class Model(torch.nn.Module):
            def forward(_, q, k, v):
                return self.causal(q, k, v)
        inputs = attention_inputs()
        length = torch.export.Dim.DYNAMIC
        program = torch.export.export(Model(), tuple(inputs), dynamic_shapes=({2: length},) * 3)
        self.assertIn("torch.ops.attnc.causal", str(program.graph))
        others = attention_inputs(33)
        torch.testing.assert_close(program.module()(*others), self.reference(*others), **CLOSE)

    def test_vmap_by_the_batch(self):
        q, k, v = (draw(4, 2, 3, 10, 16) for _ in range(3))
        expected = torch.stack([self.causal(*each) for each in zip(q, k, v)])
        with Calls() as calls:
            torch.testing.assert_close(torch.vmap(self.causal)(q, k, v), expected, **CLOSE)
            mixed = torch.vmap(self.causal, in_dims=(0, None, 2))(q, k[0], v.movedim(0, 2))
        self.assertEqual(calls.names, [self.causal.name] * 2)
        torch.testing.assert_close(
            mixed, torch.stack([self.causal(a, k[0], b) for a, b in zip(q, v)]), **CLOSE)

    def test_vmap_where_the_value_of_the_batch_matters(self):
        size = attnc.torch.op({
            "attnc": 1, "name": "by_size", "params": {"c": "f32 = 1/size(b)"},
            "inputs": {"x": "f32[b, i]"}, "body": ["o[b,i] = x * c"], "outputs": {"o": "f32"}})
        x = torch.ones(5, 2, 3)
        torch.testing.assert_close(torch.vmap(size)(x), x / 2)
        other = attnc.torch.op({
            "attnc": 1, "name": "rows_of_another",
            "inputs": {"x": "f32[b, i]", "y": "f32[n, i]"},
            "body": ["o[b,i] = x + (y[b,i] else 0)"], "outputs": {"o": "f32"}})
        y = torch.arange(12.0).reshape(4, 3)
        torch.testing.assert_close(torch.vmap(other, in_dims=(0, None))(x, y),
                                   x + y[:2].expand(5, 2, 3))

    def test_jacobian_of_what_has_no_batch(self):
        double = attnc.torch.op({"attnc": 1, "name": "doubled", "inputs": {"x": "f32[]"},
                                 "body": ["o = x * x"], "outputs": {"o": "f32"}})
        cubes = attnc.torch.op({
            "attnc": 1, "name": "cubes", "inputs": {"x": "f32[i]"}, "dims": {"i": 3},
            "body": ["o = x * x * x"], "outputs": {"o": "f32"}})
        torch.testing.assert_close(torch.func.jacrev(double)(torch.tensor(3.0)), torch.tensor(6.0))
        x = torch.tensor([1.0, 2.0, 3.0])
        torch.testing.assert_close(torch.func.jacrev(cubes)(x), torch.diag(3 * x * x))

    def test_vmap_of_nothing(self):
        q, k = torch.randn(4, 2, 3, 0, 16), torch.randn(4, 2, 3, 7, 16)
        self.assertEqual(torch.vmap(self.causal)(q, k, k).shape, (4, 2, 3, 0, 16))
        self.assertEqual(torch.vmap(self.causal)(q[:0], k[:0], k[:0]).shape, (0, 2, 3, 0, 16))

    def test_specs_that_extend_others(self):
        for name in attnc.library():
            operator, program = attnc.torch.op(name), attnc.compile(name, target="cpu")
            self.assertEqual(operator.inputs, tuple(t.name for t in program.inputs), name)
            self.assertEqual(operator.outputs, tuple(t.name for t in program.outputs), name)
        q = torch.randn(1, 2, 5, 16)
        capped = attnc.torch.op({"attnc": 1, "extends": "causal", "name": "halved",
                                 "types": {"T": "f32"}, "body": ["o[b,h,i,e] = sum(j, p * v) / 2"]})
        torch.testing.assert_close(2 * capped(q, q, q), self.causal(q, q, q), **CLOSE)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.json"
            (path.parent / "base.json").write_text(json.dumps(
                {"attnc": 1, "inputs": {"x": "f32[i]"}, "body": ["o = 2 * x"],
                 "outputs": {"o": "f32"}}))
            path.write_text('{"attnc": 1, "extends": "base.json", "body": ["o = 3 * x"]}')
            torch.testing.assert_close(attnc.torch.op(path)(torch.ones(2)), torch.full((2,), 3.0))
            with self.assertRaisesRegex(attnc.SpecError, "no spec 'base.json' to extend"):
                attnc.torch.op(path.read_text())

    def test_vmap_of_gradients_by_the_batch(self):
        q, k, v = (draw(4, 2, 3, 10, 16) for _ in range(3))
        mapped = {"in_dims": (0, None, 0)}  # a gradient of the k that is shared for each index
        with Calls() as calls:
            own = torch.vmap(torch.func.grad(self.loss, (0, 1, 2)), **mapped)(q, k[0], v)
        self.assertEqual(calls.names, [self.causal.name + "_with_saved",
                                       self.causal.name + "_backward"])
        gradient = torch.func.grad(self.reference_loss, (0, 1, 2))
        for x, *each in zip(own, *(gradient(a, k[0], b) for a, b in zip(q, v))):
            torch.testing.assert_close(x, torch.stack(each), rtol=1e-4, atol=1e-5)

    def test_vmap_of_gradients_of_what_has_no_batch(self):
        (q, k, v), masks = attention_inputs(), draw(4, 3, 20, 20)  # one for all of a batch

        def gradient(attention):
            return torch.func.grad(lambda t: attention(q, k, v, attn_mask=t).square().sum())
        own = torch.vmap(gradient(attnc.torch.attention))(masks)
        other = torch.stack([gradient(F.scaled_dot_product_attention)(t) for t in masks])
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)

    def test_vmap_where_the_spec_has_no_batch(self):
        rows = attnc.torch.op({"attnc": 1, "name": "rows", "dims": {"d": 4},
                               "inputs": {"x": "f32[i, d]"}, "body": ["o[i] = sum(d, x) * i"],
                               "outputs": {"o": "f32"}})
        x = draw(3, 5, 4)
        torch.testing.assert_close(torch.vmap(rows)(x), x.sum(-1) * torch.arange(5), **CLOSE)

    def test_autocast_casts_what_has_a_named_type(self):
        q, k, v = attention_inputs()
        with torch.autocast("cpu", torch.bfloat16):
            o = self.causal(q, k, v)
        self.assertEqual(o.dtype, torch.bfloat16)
        relative = attnc.torch.op("relative_bias")  # its table is f32, whatever T is
        bucket, table = torch.arange(20, dtype=torch.int32) // 2, draw(32, 3)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(relative(q, k, v, bucket, table).dtype, torch.bfloat16)

    def test_checkpoints(self):
        inputs = attention_inputs(requires_grad=True)
        o = torch.utils.checkpoint.checkpoint(self.causal, *inputs, use_reentrant=False)
        own = torch.autograd.grad(o.square().sum(), inputs)
        expected = torch.autograd.grad(self.causal(*inputs).square().sum(), inputs)
        for x, y in zip(own, expected):
            torch.testing.assert_close(x, y)

    def test_trains_in_two_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(train, (folder,), nprocs=2)
            first, second = (torch.load(pathlib.Path(folder) / str(n)) for n in range(2))
        torch.testing.assert_close(first, second, rtol=0, atol=0)

    def test_says_what_is_wrong(self):
        q, k, v = attention_inputs()
        for message, call in (
                ("no tensor for v", lambda: self.causal(q, k)),
                ("no argument foo", lambda: self.causal(q, k, v, foo=1)),
                ("takes 3 tensors", lambda: self.causal(q, k, v, v)),
                ("v: dim j is 3", lambda: self.causal(q, k, v[:, :, :3])),
                ("T is f32 in q and f64 in k", lambda: self.causal(q, k.double(), v)),
                ("d is 16 in q and 3 in k", lambda: self.causal(q, k[..., :3], v)),
                ("scale is -1", lambda: self.causal(q, k, v, scale=-1.0)),
                ("q: int is no tensor", lambda: self.causal(1, k, v)),
                ("no element type", lambda: self.causal(q.to(torch.complex64), k, v)),
                ("cannot read the spec 'nope'", lambda: attnc.torch.op("nope")),
                ("no input 'x'", lambda: attnc.torch.op("causal", grad=["x"])),
                ("is no name", lambda: attnc.torch.op("causal", name="a b"))):
            with self.subTest(message), self.assertRaisesRegex(attnc.InvalidArgument, message):
                call()
        with self.assertRaisesRegex(attnc.SpecError, "no JSON"):
            attnc.torch.op("{")


class Attention(unittest.TestCase):
    """Beside scaled_dot_product_attention."""

    def check(self, q, k, v, **options):
        own = attnc.torch.attention(q, k, v, **options)
        expected = F.scaled_dot_product_attention(q, k, v, **options)
        self.assertEqual(own.shape, expected.shape)
        torch.testing.assert_close(own, expected, **CLOSE)

    def setUp(self):
        torch.manual_seed(1)
        self.q, self.k, self.v = draw(2, 4, 9, 8), draw(2, 4, 13, 8), draw(2, 4, 13, 12)

    def test_plain_causal_and_scaled(self):
        self.check(self.q, self.k, self.v)
        self.check(self.q, self.k, self.v, is_causal=True)
        self.check(self.q, self.k, self.v, scale=0.7)

    def test_masks_of_all_shapes(self):
        for shape in ((9, 13), (4, 9, 13), (1, 9, 13), (2, 1, 9, 13), (2, 4, 9, 13), (1, 13),
                      (2, 1, 1, 13), (9, 1), (1, 1)):
            with self.subTest(shape=shape):
                self.check(self.q, self.k, self.v, attn_mask=draw(*shape))
                seen = torch.rand(*shape) > 0.3
                seen[..., 0] = True  # PyTorch's result of a row that sees nothing is its own
                self.check(self.q, self.k, self.v, attn_mask=seen)

    def test_a_query_that_sees_nothing_has_0(self):
        seen = torch.ones(9, 13, dtype=torch.bool)
        seen[3] = False
        own = attnc.torch.attention(self.q, self.k, self.v, attn_mask=seen)
        self.assertTrue((own[:, :, 3] == 0).all())

    def test_heads_that_share_keys(self):
        self.check(self.q, self.k[:, :2], self.v[:, :2], enable_gqa=True)
        self.check(self.q, self.k[:, :1], self.v[:, :1], enable_gqa=True, is_causal=True)
        with self.assertRaisesRegex(attnc.InvalidArgument, "4 heads and key 2"):
            attnc.torch.attention(self.q, self.k[:, :2], self.v[:, :2])

    def test_other_ranks(self):
        self.check(self.q[0], self.k[0], self.v[0])
        self.check(self.q[0, 0], self.k[0, 0], self.v[0, 0])
        self.check(self.q[None], self.k[None], self.v[None], attn_mask=draw(1, 2, 1, 9, 13))
        self.check(self.q[None], self.k[None], self.v[None], attn_mask=draw(9, 13))
        self.check(self.q[None], self.k[None], self.v[None], attn_mask=draw(2, 1, 9, 13))
        self.check(self.q, self.k[:, :1], self.v[:, :1])

    def test_gradients(self):
        inputs = [t.clone().requires_grad_() for t in (self.q, self.k, self.v)]
        mask = draw(4, 9, 13, requires_grad=True)
        own = attnc.torch.attention(*inputs, attn_mask=mask)
        expected = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
        grad = draw(*own.shape)
        for x, y in zip(torch.autograd.grad(own, [*inputs, mask], grad),
                        torch.autograd.grad(expected, [*inputs, mask], grad)):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)

    def test_refuses(self):
        for message, options in (("no dropout", {"dropout_p": 0.1}),
                                 ("broadcasts", {"attn_mask": draw(9, 12)}),
                                 ("int64", {"attn_mask": torch.ones(9, 13, dtype=torch.int64)}),
                                 ("broadcasts", {"attn_mask": draw(3, 2, 4, 9, 13)})):
            with self.assertRaisesRegex(attnc.InvalidArgument, message):
                attnc.torch.attention(self.q, self.k, self.v, **options)


class Nystrom(unittest.TestCase):
    """Beside the same in float64."""

    def setUp(self):
        torch.manual_seed(2)

    def exact(self, q, k, v, landmarks, iterations, weight=None):
        q, k, v = (t.double() for t in (q, k, v))
        root = q.shape[-1] ** -0.25

        def means(x):
            rows = x.shape[2] // landmarks
            sizes = [rows] * (landmarks - 1) + [x.shape[2] - rows * (landmarks - 1)]
            return torch.stack([part.mean(2) for part in x.split(sizes, 2)], 2) * root
        ql, kl, one = means(q), means(k), torch.eye(landmarks, dtype=torch.float64)
        a = (ql @ kl.mT).softmax(-1)
        z = a.mT / (a.sum(-1).amax(-1) * a.sum(-2).amax(-1))[..., None, None]
        for _ in range(iterations):
            az = a @ z
            z = z @ (13 * one - az @ (15 * one - az @ (7 * one - az))) / 4
        o = (q * root @ kl.mT).softmax(-1) @ (z @ ((ql @ k.mT * root).softmax(-1) @ v))
        if weight is None:
            return o
        width = weight.shape[1]
        beside = F.pad(v, (0, 0, width // 2, width // 2)).unfold(2, width, 1)
        return o + torch.einsum("hw,bhnew->bhne", weight.double(), beside)

    def test_numbers_and_gradients(self):
        def check(own, exact):
            # What f32 rounds, times the condition of the landmarks' matrix, which is below 100.
            self.assertLess((own.double() - exact).norm() / exact.norm(), 100 * 2 ** -24)
        for queries, keys, landmarks, iterations, width in (
                (64, 64, 8, 6, None), (50, 75, 7, 3, None), (33, 33, 4, 6, 5)):
            q, k, v = (draw(2, 3, n, 16, requires_grad=True) for n in (queries, keys, keys))
            weight = None if width is None else draw(3, width, requires_grad=True)
            inputs = [t for t in (q, k, v, weight) if t is not None]
            own = attnc.torch.nystrom_attention(q, k, v, landmarks, iterations, weight)
            exact = self.exact(q, k, v, landmarks, iterations, weight)
            check(own, exact)
            grad = draw(*own.shape)
            for x, y in zip(torch.autograd.grad(own, inputs, grad),
                            torch.autograd.grad(exact, inputs, grad.double())):
                check(x, y.double())

    def test_a_module_keeps_its_state(self):
        first, x = attnc.torch.NystromAttention(32, 4, 8, conv_kernel_size=3), draw(2, 40, 32)
        second = attnc.torch.NystromAttention(32, 4, 8, conv_kernel_size=3)
        self.assertFalse(torch.equal(first(x), second(x)))
        second.load_state_dict(first.state_dict())
        torch.testing.assert_close(first(x), second(x))
        first(x).square().sum().backward()
        self.assertTrue(all(p.grad is not None for p in first.parameters()))

    def test_refuses(self):
        x = draw(1, 2, 5, 8)
        for message, call in (
                ("at least 1", lambda: attnc.torch.nystrom_attention(x, x, x, 0)),
                ("size", lambda: attnc.torch.nystrom_attention(x, x, x, 8)),
                ("do not divide", lambda: attnc.torch.NystromAttention(30, 4)),
                ("odd", lambda: attnc.torch.NystromAttention(32, 4, conv_kernel_size=4))):
            with self.subTest(message), self.assertRaisesRegex(attnc.InvalidArgument, message):
                call()


class WithoutNative(unittest.TestCase):
    def test_all_works_where_libattnc_torch_is_not_there(self):
        library = attnc._abi.library()._name
        with tempfile.TemporaryDirectory() as folder:
            alone = pathlib.Path(folder) / "libattnc.so"
            alone.symlink_to(pathlib.Path(library).resolve())
            done = subprocess.run(
                [sys.executable, "-c", "import attnc.torch; assert not attnc.torch.native\n"
                 "import operator_test, unittest; unittest.main(operator_test)",
                 *(f"Operator.test_{name}" for name in (
                     "computes_what_pytorch_does_for_any_head_dim_and_type",
                     "has_several_results", "has_conditions_as_results",
                     "gradients_are_those_of_pytorch", "vmap_of_gradients_by_the_batch",
                     "says_what_is_wrong"))],
                cwd=pathlib.Path(__file__).parent, capture_output=True, text=True,
                env={**os.environ, "ATTNC_LIBRARY": str(alone)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 6 tests", done.stderr)


def train(rank, folder):
    """One of two processes that train a projection, and write it."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank,
                                         world_size=2)
    causal = attnc.torch.op("causal")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.project = torch.nn.Linear(8, 24)

        def forward(self, x):
            q, k, v = self.project(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
            return causal(q, k, v)
    model = torch.nn.parallel.DistributedDataParallel(Model())
    step = torch.optim.SGD(model.parameters(), 0.1)
    torch.manual_seed(rank)
    for _ in range(2):
        step.zero_grad()
        model(draw(2, 6, 8)).square().sum().backward()
        step.step()
    torch.save(model.module.project.weight.detach(), pathlib.Path(folder) / str(rank))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    unittest.main()
