"""Functions and modules under the interfaces of published packages, on the processor: numbers
beside the same in float64."""
import unittest

import torch
import torch.nn.functional as F

import attnc
import attnc.torch

# Sums of a few hundred products of f32.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def draw(*shape, **options):
    return torch.randn(*shape, **options)


class Elsa(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.inputs = [draw(2, 3, 20, 16, requires_grad=True) for _ in range(3)]

    def exact(self, q, k, v, bias=None, is_causal=False, scale=None):
        q, k, v = (t.double() for t in (q, k, v))
        s = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
        if bias is not None:
            s = s + bias.double()
        if is_causal:
            s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1) > 0, -torch.inf)
        return s.softmax(-1) @ v

    def check(self, *more, **options):
        inputs = [*self.inputs, *more]
        if more:
            options["bias"], = more
        own = attnc.torch.elsa_attention(*self.inputs, **options)
        exact = self.exact(*self.inputs, **options)
        torch.testing.assert_close(own.double(), exact, **CLOSE)
        grad = draw(*own.shape)
        for x, y in zip(torch.autograd.grad(own, inputs, grad),
                        torch.autograd.grad(exact, inputs, grad.double())):
            torch.testing.assert_close(x, y, **CLOSE)

    def test_numbers_and_gradients(self):
        self.check()
        self.check(scale=0.3)
        self.check(is_causal=True)

    def test_a_bias_broadcasts(self):
        for shape in ((20, 20), (3, 20, 20), (1, 3, 20, 20), (2, 1, 20, 20), (2, 3, 20, 20)):
            with self.subTest(shape):
                self.check(draw(*shape, requires_grad=True))
        self.check(draw(3, 20, 20, requires_grad=True), is_causal=True, scale=0.3)

    def test_keys_are_as_many_as_they_are(self):
        self.inputs[1:] = (draw(2, 3, 33, 16, requires_grad=True) for _ in range(2))
        self.check(draw(20, 33, requires_grad=True))

    def test_halves_are_computed_in_f32(self):
        q, k, v = (t.half() for t in self.inputs)
        bias = draw(3, 20, 20)
        own = attnc.torch.elsa_attention(q, k, v, bias=bias)
        self.assertEqual(own.dtype, torch.half)
        # Beside the rounding of the result there is only that of f32.
        torch.testing.assert_close(own.double(), self.exact(q, k, v, bias), rtol=2 ** -11,
                                   atol=1e-5)

    def test_refuses(self):
        for bias in (draw(4, 20, 20), draw(1, 2, 3, 20, 20), draw(20, 20) > 0):
            with self.assertRaisesRegex(attnc.InvalidArgument, "bias is"):
                attnc.torch.elsa_attention(*self.inputs, bias=bias)


def nystrom(q, k, v, landmarks, iterations, weight=None, mask=None, initial="exact"):
    """The formula of Xiong et al. in float64, with masks as their code has them."""
    q, k, v = (t.double() for t in (q, k, v))
    if mask is not None:
        q, k, v = (t * mask[:, None, :, None] for t in (q, k, v))
    root = q.shape[-1] ** -0.25
    ql, kl = (root * x.unflatten(2, (landmarks, -1)).mean(3) for x in (q, k))
    a, one = (ql @ kl.mT).softmax(-1), torch.eye(landmarks, dtype=torch.float64)
    largest = a.sum(-2).amax(-1)[..., None, None]
    z = a.mT / (largest.max() if initial == "original" else largest)
    for _ in range(iterations):
        az = a @ z
        z = z @ (13 * one - az @ (15 * one - az @ (7 * one - az))) / 4
    scores = ql @ k.mT * root
    if mask is not None:
        scores = scores - 1e9 * (1 - mask.double()[:, None, None, :])
    o = (q * root @ kl.mT).softmax(-1) @ (z @ (scores.softmax(-1) @ v))
    if weight is None:
        return o
    width = weight.shape[1]
    beside = F.pad(v, (0, 0, width // 2, width // 2)).unfold(2, width, 1)
    return o + torch.einsum("hw,bhnew->bhne", weight.double(), beside)


def expect_close(test, own, exact):
    """What f32 rounds, times the condition of the landmarks' matrix, which is below 2000 here."""
    test.assertLess((own.double() - exact).norm() / exact.norm(), 2000 * 2 ** -24)


class Nystrom(unittest.TestCase):
    LANDMARKS, ITERATIONS = 4, 2

    def setUp(self):
        torch.manual_seed(1)
        self.inputs = [draw(2, 3, 40, 16, requires_grad=True) for _ in range(3)]
        self.mask = torch.arange(40) < torch.tensor([[40], [27]])

    def check(self, weight=None, **options):
        inputs = self.inputs + ([] if weight is None else [weight])
        own = attnc.torch.nystrom_attention(*self.inputs, self.LANDMARKS, self.ITERATIONS, weight,
                                            **options)
        exact = nystrom(*self.inputs, self.LANDMARKS, self.ITERATIONS, weight, **options)
        expect_close(self, own, exact)
        grad = draw(*own.shape)
        for x, y in zip(torch.autograd.grad(own, inputs, grad),
                        torch.autograd.grad(exact, inputs, grad.double())):
            expect_close(self, x, y.double())

    def test_padding_is_masked(self):
        self.check(draw(3, 5, requires_grad=True), mask=self.mask)

    def test_what_is_padding_does_not_matter(self):
        q, k, v = (t.detach() for t in self.inputs)
        own = attnc.torch.nystrom_attention(q, k, v, 4, 2, mask=self.mask.float())
        for t in (q, k, v):
            t.masked_fill_(~self.mask[:, None, :, None], torch.nan)
        torch.testing.assert_close(
            attnc.torch.nystrom_attention(q, k, v, 4, 2, mask=self.mask), own, rtol=0, atol=0)

    def test_steps_begin_as_the_original_has_it(self):
        self.check(initial="original")
        with torch.no_grad():
            exact, original = (attnc.torch.nystrom_attention(*self.inputs, 4, 2, initial=initial)
                               for initial in ("exact", "original"))
        self.assertFalse(torch.allclose(exact, original, rtol=1e-3))

    def test_refuses(self):
        q, k, v = self.inputs
        for message, options in (("mask is", {"mask": self.mask[0]}),
                                 ("initial is 'ours'", {"initial": "ours"})):
            with self.assertRaisesRegex(attnc.InvalidArgument, message):
                attnc.torch.nystrom_attention(q, k, v, 4, **options)
        with self.assertRaisesRegex(attnc.InvalidArgument, "40 queries and 32 keys"):
            attnc.torch.nystrom_attention(q, k[:, :, :32], v[:, :, :32], 4, mask=self.mask)

    @torch.no_grad()
    def test_flash_nystroms_function(self):
        weight = draw(3, 5)
        for options, expected in (
                ({}, None), ({"conv_weight": weight, "conv_kernel_size": 5}, weight),
                ({"conv_weight": weight, "fast_dk2inv": False}, None)):
            own = attnc.torch.flash_nystrom_attention(*self.inputs, 4, newton_iter=2, **options)
            expect_close(self, own, nystrom(*self.inputs, 4, 2, expected))

    def test_convolutions_that_make_no_sense(self):
        heads = self.inputs[0].shape[1]
        for options in ({"conv_kernel_size": 3},
                        {"conv_kernel_size": 3, "conv_weight": torch.ones(heads, 5)},
                        {"conv_kernel_size": 4, "conv_weight": torch.ones(heads, 4)}):
            with self.assertRaises(attnc.InvalidArgument):
                attnc.torch.flash_nystrom_attention(*self.inputs, 4, **options)


class Module(unittest.TestCase):
    """State under the names of FlashNystrom's module, and of the package nystrom-attention."""

    def setUp(self):
        torch.manual_seed(2)
        self.x, self.weights = draw(2, 40, 32), [draw(32, 32) / 6 for _ in range(4)]
        self.conv = draw(4, 3)

    @torch.no_grad()
    def expect(self, module, bias=0, mask=None, **options):
        q, k, v = ((self.x @ w.T).unflatten(-1, (4, 8)).transpose(1, 2) for w in self.weights[:3])
        o = nystrom(q, k, v, 8, 6, self.conv, mask, **options).transpose(1, 2).flatten(-2)
        expect_close(self, module(self.x, mask), o @ self.weights[3].double().T + bias)

    def test_flash_nystroms(self):
        q, k, v, out = self.weights
        module = attnc.torch.NystromAttention(32, 4, 8, 3, out_bias=False)
        module.load_state_dict({"q_proj.weight": q, "k_proj.weight": k, "v_proj.weight": v,
                                "out_proj.weight": out, "conv_weight": self.conv})
        self.expect(module)
        self.expect(module, mask=torch.arange(40) < torch.tensor([[40], [27]]))

    def test_nystrom_attentions(self):
        bias = draw(32)
        module = attnc.torch.NystromAttention(32, 4, 8, 3, initial="original")
        holder = torch.nn.ModuleDict({"attention": module})
        holder.load_state_dict({
            "attention.to_qkv.weight": torch.cat(self.weights[:3]),
            "attention.to_out.0.weight": self.weights[3], "attention.to_out.0.bias": bias,
            "attention.res_conv.weight": self.conv[:, None, :, None]})
        self.expect(module, bias, initial="original")


if __name__ == "__main__":
    unittest.main()
