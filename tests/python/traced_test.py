"""attnc.torch.fuse and flex_attention: functions beside what PyTorch computes of them."""
import math
import unittest

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import attnc
import attnc.torch
import plain_attention
from plain_attention import masked, plain, projected, relative, with_itself

# Sums of a few hundred products of f32, in another order than PyTorch's, and their exponentials.
TOLERANCE = 2e-5


def draw(*shape, **options):
    return torch.randn(*shape, **options)


def distance(own, expected):
    """The largest difference of results, relative to the largest of them."""
    worst = 0
    for x, y in zip(torch.utils._pytree.tree_leaves(own),
                    torch.utils._pytree.tree_leaves(expected), strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype, (x.shape, y.shape, x.dtype, y.dtype)
        worst = max(worst, ((x - y).abs().max() / y.abs().max()).item())
    return worst


class Fuse(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.q, self.k, self.v = (draw(2, 4, 17, 16) for _ in range(3))

    def check(self, function, *arguments, gradients=False, tolerance=TOLERANCE):
        fused = attnc.torch.fuse(function)
        own, expected = fused(*arguments), function(*arguments)
        self.assertLess(distance(own, expected), tolerance)
        if gradients:
            wanted = [t for t in arguments if torch.is_tensor(t) and t.requires_grad]
            grad = draw(*own.shape)
            self.assertLess(distance(torch.autograd.grad(own, wanted, grad),
                                     torch.autograd.grad(expected, wanted, grad)), 1e-4)

    def test_attention_of_all_kinds(self):
        for function, arguments in plain_attention.cases(draw, keys=19):
            with self.subTest(function.__name__):
                self.check(function, *arguments)

    def test_axes_of_one(self):
        self.check(plain, *(draw(1, 1, 6, 8) for _ in range(3)))
        self.check(plain, draw(1, 4, 6, 8), draw(1, 4, 6, 8), draw(1, 4, 6, 1))
        self.check(masked, *(draw(1, 1, 6, 8) for _ in range(3)))

    def test_gradients(self):
        def wanted(*shape, scale=1.0):
            return (draw(*shape) * scale).requires_grad_()
        self.check(plain, *(wanted(1, 1, 6, 8) for _ in range(3)), gradients=True)
        self.check(projected, wanted(2, 13, 32), *(wanted(32, 32, scale=1 / 6) for _ in range(4)),
                   gradients=True)
        self.check(relative, *(wanted(2, 4, 17, 16) for _ in range(3)), wanted(9, 4),
                   gradients=True)

    def test_16_bits(self):
        self.check(plain, *(t.bfloat16() for t in (self.q, self.k, self.v)), tolerance=2e-2)

    def test_other_shapes_are_traced_anew(self):
        fused = attnc.torch.fuse(lambda q, k, v: plain(q, k, v) / q.shape[-2])
        for n in (5, 9):
            q = draw(2, 4, n, 16)
            self.assertLess(distance(fused(q, self.k, self.v), plain(q, self.k, self.v) / n),
                            TOLERANCE)

    def test_captured_tensors_are_read_at_each_call(self):
        weight = draw(16, 16)
        fused = attnc.torch.fuse(lambda q, k, v: plain(q @ weight, k, v))
        for _ in range(2):
            self.assertLess(distance(fused(self.q, self.k, self.v),
                                     plain(self.q @ weight, self.k, self.v)), TOLERANCE)
            weight.mul_(2)
        weight = draw(16, 16)
        self.assertLess(distance(fused(self.q, self.k, self.v),
                                 plain(self.q @ weight, self.k, self.v)), TOLERANCE)

    def test_a_module_learns(self):
        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.project = torch.nn.Linear(16, 16)

            def forward(self, x):
                return with_itself(self.project(x))
        layer, x = Layer(), draw(2, 9, 16)
        own, expected = attnc.torch.fuse(layer)(x), layer(x)
        self.assertLess(distance(own, expected), TOLERANCE)
        weights = list(layer.parameters())
        self.assertLess(distance(torch.autograd.grad(own.square().sum(), weights),
                                 torch.autograd.grad(expected.square().sum(), weights)), 1e-4)

    def test_what_a_function_depends_on_besides_tensors(self):
        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight, self.scale = torch.nn.Parameter(draw(16, 16)), 2.0

            def forward(self, x):
                return (x @ self.weight) * self.scale

        class Settings:
            factor = 1.0

        class Slots:
            __slots__ = ("factor",)
        layer, settings, slots, table = Layer(), Settings(), Slots(), {"a": draw(16, 16)}
        fused, of_slots = attnc.torch.fuse(layer), attnc.torch.fuse(lambda x: x * slots.factor)
        of_settings = attnc.torch.fuse(lambda x: x * settings.factor @ table["a"])
        for value in (1.0, 2.0, -0.5):
            layer.scale = settings.factor = value
            self.assertLess(distance(fused(self.q), layer(self.q)), TOLERANCE)
            slots.factor = torch.tensor(value)
            self.assertLess(distance(of_slots(self.q), self.q * value), TOLERANCE)
            for table["a"] in (draw(16, 16), table["a"].t()):
                self.assertLess(distance(of_settings(self.q), self.q * value @ table["a"]),
                                TOLERANCE)
        settings = Settings()  # another one, maybe where the first was
        self.assertLess(distance(of_settings(self.q), self.q @ table["a"]), TOLERANCE)

    def test_a_tensor_that_is_passed_and_captured(self):
        weight = draw(16, 16)
        self.check(lambda x: x @ weight, weight)

    def test_constants_are_told_apart_by_their_types(self):
        fused = attnc.torch.fuse(lambda i, n: i * n)
        i = torch.arange(5)
        for n in (2, 2.0, True):
            self.assertEqual(fused(i, n).dtype, (i * n).dtype)
            torch.testing.assert_close(fused(i, n), i * n)

    def test_writes_become_new_tensors(self):
        def through_a_view(x):
            y = x.clone()
            z = y.view(-1)
            y.masked_fill_(y > 0, -1.0)
            return z
        self.check(through_a_view, draw(3, 4))
        with self.assertRaisesRegex(attnc.InvalidArgument, "writes into its tensors"):
            attnc.torch.fuse(lambda x: x.masked_fill_(x > 0, 0.0) + 1)(draw(3, 4))

    def test_conditions_and_signs(self):
        x, y = draw(5, 3), draw(5, 3)
        for function in (lambda x, y: x == y, lambda x, y: (x > 0) & ~(y > 0),
                         lambda x, y: (x > 0) ^ (y > 0), lambda x, y: (x > 0) * (y > 0),
                         lambda x, y: (x > 0) + (y > 0), lambda x, y: torch.maximum(x > 0, y > 0),
                         lambda x, y: torch.where(x > 0, y > 0, x > 1),
                         lambda x, y: (x > y).float()):
            own, expected = attnc.torch.fuse(function)(x, y), function(x, y)
            self.assertEqual(own.dtype, expected.dtype)
            self.assertTrue(torch.equal(own, expected))
        self.check(lambda x: (-x) ** 2, draw(7))
        self.check(lambda x: 2 - (3 - x), draw(7))
        self.check(lambda x: 2 / (3 / x), draw(7))

    def test_shapes_at_the_edge(self):
        self.check(lambda x: (x @ x.mT).view(2, 4, 2, 2), draw(2, 4, 6))

        def used_twice(x):
            y = x.softmax(1).expand(2, 4, 6).reshape(8, 6)
            return y + 0.5 * y
        self.check(used_twice, draw(1, 4, 6))
        self.check(plain, self.q, self.k[:, :, :1], self.v[:, :, :1])
        self.check(lambda x: x.log_softmax(-1) - 1, draw(3, 1))
        number = torch.tensor(3.0)
        self.check(lambda x, s: x * s, draw(5, 3), torch.tensor(2.0))
        self.check(lambda x: x * number, draw(5, 3))
        self.check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.0), self.q,
                   self.k, self.v)

    def test_parts_of_tensors(self):
        x, y, rows = draw(3, 6, 4), draw(3, 2, 4), torch.tensor([2, 0, 2])
        for function in (lambda x, y: torch.cat((x, y), 1), lambda x, y: torch.cat((y, x, y), -2),
                         lambda x, y: torch.cat((x[:, :1], y[:, :1]), 1) * 2,
                         lambda x, y: torch.stack((y, y * 2), 1),
                         lambda x, y: torch.stack((y, y), -1),
                         lambda x, y: x.chunk(4, 1)[1] + y, lambda x, y: x.split([4, 2], 1)[1] + y,
                         lambda x, y: sum(x.unbind(1)), lambda x, y: x.flip(1) - x.flip(0, 2),
                         lambda x, y: x.index_select(1, rows),
                         lambda x, y: F.embedding(rows, x[0])):
            self.check(function, x, y)

    def test_refuses_what_it_would_get_wrong(self):
        for message, function in (
                ("do not wrap", lambda x: (x > 0).to(torch.int8) + 1),
                ("expanded", lambda x: x[:, :1].expand(2, 4, 17, 16).softmax(1)),
                ("without elements", lambda x: x[2:2]),
                ("no result depends", lambda x: torch.ones(3))):
            with self.subTest(message), self.assertRaisesRegex(attnc.InvalidArgument, message):
                attnc.torch.fuse(function)(self.q)

    def test_the_spec_can_be_seen(self):
        spec = attnc.torch.fuse(plain).spec(self.q, self.k, self.v)
        self.assertIn("softmax", " ".join(spec["body"]))
        self.assertEqual(attnc.compile(spec, target="cpu").inputs[0].dtype, "f32")

    def test_says_what_has_no_spec_and_where(self):
        def running(x):
            return torch.softmax(x, -1).cumsum(-1)
        line = running.__code__.co_firstlineno + 1
        message = rf"running.*\n?.*cumsum\n.*traced_test.py:{line}"
        with self.assertRaisesRegex(attnc.InvalidArgument, message):
            attnc.torch.fuse(running)(self.q)

        def branching(x):
            return x if x.sum() > 0 else -x
        with self.assertRaisesRegex(attnc.InvalidArgument, "cannot trace .*branching"):
            attnc.torch.fuse(branching)(self.q)
        with self.assertRaisesRegex(attnc.InvalidArgument, "dropout"):
            attnc.torch.fuse(lambda x: F.dropout(x, 0.5))(self.q)


class Flex(unittest.TestCase):
    """Functions of scores and masks, beside torch.nn.attention.flex_attention."""

    def setUp(self):
        torch.manual_seed(2)
        self.q, self.k, self.v = draw(2, 4, 33, 16), draw(2, 4, 40, 16), draw(2, 4, 40, 16)
        self.slopes, self.bias = draw(4), draw(4, 33, 40)
        self.document = torch.randint(0, 3, (2, 40))
        self.offsets = torch.randint(0, 5, (2,))

    def check(self, score_mod=None, mask_mod=None, **options):
        mask = mask_mod and create_block_mask(mask_mod, 2, 4, 33, 40, device="cpu")
        own = attnc.torch.flex_attention(self.q, self.k, self.v, score_mod, mask, **options)
        with torch.no_grad():
            expected = flex_attention(self.q, self.k, self.v, score_mod, mask, **options)
        self.assertLess(distance(own, expected), TOLERANCE)

    def test_functions_of_scores(self):
        slopes, bias = self.slopes, self.bias
        for score_mod in (
                None,
                lambda s, b, h, i, j: s + (j - i),
                lambda s, b, h, i, j: s + slopes[h] * (j - i),
                lambda s, b, h, i, j: 20 * torch.tanh(s / 20),
                lambda s, b, h, i, j: s + bias[h, i, j],
                lambda s, b, h, i, j: torch.where(i >= j, s, -float("inf")),
                lambda s, b, h, i, j: torch.where((i - j).abs() <= 5, s * 2, s - 1),
                lambda s, b, h, i, j: s * (h + 1) / (b + 2)):
            with self.subTest(score_mod):
                self.check(score_mod)

    def test_functions_of_masks(self):
        document, offsets = self.document, self.offsets
        for mask_mod in (
                lambda b, h, i, j: i >= j,
                lambda b, h, i, j: (i >= j) & (i - j <= 7),
                lambda b, h, i, j: (j < 9) | (i >= j),
                lambda b, h, i, j: document[b, i] == document[b, j],
                lambda b, h, i, j: (document[b, i] == document[b, j]) & (i >= j),
                lambda b, h, i, j: i + offsets[b] >= j,
                lambda b, h, i, j: ~((i + j) % 3 == 1)):
            with self.subTest(mask_mod):
                self.check(None, mask_mod)
                self.check(lambda s, b, h, i, j: s * 0.5, mask_mod, scale=0.3)

    def test_the_logarithm_of_the_sum(self):
        o, lse = attnc.torch.flex_attention(self.q, self.k, self.v, return_lse=True)
        scores = self.q @ self.k.mT / 4
        self.assertLess(distance((o, lse), (scores.softmax(-1) @ self.v, scores.logsumexp(-1))),
                        TOLERANCE)

    def test_heads_that_share_keys(self):
        own = attnc.torch.flex_attention(self.q, self.k[:, :2], self.v[:, :2], enable_gqa=True)
        expected = F.scaled_dot_product_attention(self.q, self.k[:, :2], self.v[:, :2],
                                                  enable_gqa=True)
        self.assertLess(distance(own, expected), TOLERANCE)
        with self.assertRaisesRegex(attnc.InvalidArgument, "4 heads and key 2"):
            attnc.torch.flex_attention(self.q, self.k[:, :2], self.v[:, :2])

    def test_axes_of_one(self):
        self.q, self.k, self.v = draw(1, 1, 5, 8), draw(1, 1, 6, 8), draw(1, 1, 6, 8)
        slopes = draw(1)
        own, lse = attnc.torch.flex_attention(self.q, self.k, self.v, return_lse=True,
                                              score_mod=lambda s, b, h, i, j: s + slopes[h] * j)
        scores = self.q @ self.k.mT / math.sqrt(8) + slopes * torch.arange(6)
        self.assertLess(distance((own, lse), (scores.softmax(-1) @ self.v, scores.logsumexp(-1))),
                        TOLERANCE)
        one = attnc.torch.flex_attention(self.q, self.k[:, :, :1], self.v[:, :, :1])
        self.assertLess(distance(one, self.v[:, :, :1].expand(1, 1, 5, 8)), TOLERANCE)

    def test_gradients_of_captured_tensors_too(self):
        inputs = [t.requires_grad_() for t in (self.q, self.k, self.v, self.slopes, self.bias)]
        slopes, bias = self.slopes, self.bias
        own = attnc.torch.flex_attention(
            *inputs[:3], lambda s, b, h, i, j: s + slopes[h] * (j - i) + bias[h, i, j])
        distances = torch.arange(40) - torch.arange(33)[:, None]
        scores = self.q @ self.k.mT / 4 + slopes[:, None, None] * distances + bias
        expected = scores.softmax(-1) @ self.v
        grad = draw(*own.shape)
        self.assertLess(distance(torch.autograd.grad(own, inputs, grad),
                                 torch.autograd.grad(expected, inputs, grad)), 1e-4)

    def test_functions_made_anew_are_traced_once(self):
        from attnc.torch import _flex

        def make(cap, table):
            return lambda s, b, h, i, j: cap * torch.tanh(s / cap) + table[h]
        results = [attnc.torch.flex_attention(self.q, self.k, self.v, make(2.0, draw(4)))
                   for _ in range(2)]
        known = len(_flex._cases)
        table = draw(4) * 3
        own = attnc.torch.flex_attention(self.q, self.k, self.v, make(2.0, table * 2))
        attnc.torch.flex_attention(self.q[:, :, :7], self.k[:, :, :9], self.v[:, :, :9],
                                   make(2.0, table))
        self.assertEqual(known, len(_flex._cases))
        self.assertGreater(distance(*results), 0)
        scores = 2 * torch.tanh(self.q @ self.k.mT / 8) + (table * 2)[:, None, None]
        self.assertLess(distance(own, scores.softmax(-1) @ self.v), TOLERANCE)
        attnc.torch.flex_attention(self.q, self.k, self.v, make(3.0, table))
        self.assertEqual(known + 1, len(_flex._cases))

    def test_tables_of_other_lengths(self):
        def last(table):
            return lambda s, b, h, i, j: s + table[-1] * j

        def split(table):
            return lambda s, b, h, i, j: s + table.view(4, -1)[h, i]
        scores = self.q @ self.k.mT / 4
        for n in (36, 48):
            table = draw(4 * n)
            own = attnc.torch.flex_attention(self.q, self.k, self.v, last(table))
            expected = (scores + table[-1] * torch.arange(40)).softmax(-1) @ self.v
            self.assertLess(distance(own, expected), TOLERANCE)
            own = attnc.torch.flex_attention(self.q, self.k, self.v, split(table))
            expected = (scores + table.view(4, n)[:, :33, None]).softmax(-1) @ self.v
            self.assertLess(distance(own, expected), TOLERANCE)

    def test_refuses(self):
        for message, call in (
                ("returns True", lambda: attnc.torch.flex_attention(
                    self.q, self.k, self.v, mask_mod=lambda b, h, i, j: True)),
                ("they are", lambda: attnc.torch.flex_attention(self.q, self.k, self.v[:, :, :5])),
                ("they are", lambda: attnc.torch.flex_attention(self.q, self.k[..., :4], self.v)),
                ("3 dims", lambda: attnc.torch.flex_attention(self.q[0], self.k[0], self.v[0])),
                ("cannot be a spec: .*sin\n.*traced_test.py", lambda: self.check(
                    lambda s, b, h, i, j: s + torch.sin(s))),
                ("both", lambda: attnc.torch.flex_attention(
                    self.q, self.k, self.v, block_mask=object(),
                    mask_mod=lambda b, h, i, j: i > j)),
                ("no mask_mod", lambda: attnc.torch.flex_attention(
                    self.q, self.k, self.v, block_mask=object()))):
            with self.subTest(message), self.assertRaisesRegex(attnc.InvalidArgument, message):
                call()


if __name__ == "__main__":
    unittest.main()
