"""Functions of scores are traced without torch.export where that is safe, and only there."""
import subprocess
import sys
import unittest

import torch

from attnc.torch import _record

COLUMN, TABLE, FLAG = torch.arange(5.), torch.randn(5, 5), torch.tensor(True)


def arguments():
    """A score and its four indices, which have an axis each."""
    indices = [torch.zeros((), dtype=torch.int64).expand([5 if m == n else 1 for m in range(4)])
               for n in range(4)]
    return [torch.zeros(()).expand(5, 5, 5, 5), *indices]


def adds_in_place(s, b, h, i, j):
    s = s * 2
    s += 1
    return s


def is_a_branch(s, b, h, i, j):
    return s if FLAG else -s


class Record(unittest.TestCase):
    def test_what_is_traced_has_the_shapes_and_types_that_it_computes(self):
        for function in (
                lambda s, b, h, i, j: torch.where((i // 3 == j % 2) | (i < torch.tensor(2)), s,
                                                    -1.),
                lambda s, b, h, i, j: s + TABLE[h, j] * COLUMN[b].to(torch.float64),
                lambda s, b, h, i, j: torch.exp(-s).clamp(max=3),
                lambda s, b, h, i, j: COLUMN[None, None, :, None] + TABLE[1][j],
                lambda s, b, h, i, j: torch.arange(5)[i] + (j > i),
                lambda s, b, h, i, j: i / 2 - TABLE[0, 0]):
            graph, held = _record.record(function, arguments())
            result = graph.find_nodes(op="output")[0].args[0][0].meta["val"]
            expected = function(*arguments())
            self.assertEqual((result.shape, result.dtype), (expected.shape, expected.dtype))
            self.assertTrue(all(any(t is own for own in (COLUMN, TABLE)) or t.numel() == 1
                                for t in held.values()))

    def test_what_depends_on_values_or_writes_is_left_to_torch_export(self):
        for function in (
                lambda s, b, h, i, j: s * float(b[0, 0, 0, 0]),
                lambda s, b, h, i, j: s * b.tolist()[0][0][0][0],
                lambda s, b, h, i, j: s * float(b.numpy().sum()),
                lambda s, b, h, i, j: s + COLUMN.sum(),
                lambda s, b, h, i, j: s + COLUMN[COLUMN > 2][0],
                lambda s, b, h, i, j: s + torch.rand_like(s),
                lambda s, b, h, i, j: s + torch.rand(5),
                lambda s, b, h, i, j: s.softmax(-1),
                lambda s, b, h, i, j: s.max(-1)[0],
                adds_in_place, is_a_branch):
            self.assertIsNone(_record.record(function, arguments()))

    def test_pytorchs_compiler_is_not_imported(self):
        code = ("import sys, torch, attnc.torch; q = torch.randn(1, 1, 4, 8); x = torch.ones(4);"
                "attnc.torch.flex_attention(q, q, q, lambda s, b, h, i, j: s + x[j],"
                " mask_mod=lambda b, h, i, j: i >= j);"
                "print([m for m in ('torch._dynamo', 'sympy') if m in sys.modules])")
        printed = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True,
                                 capture_output=True, text=True).stdout
        self.assertEqual(printed, "[]\n")


if __name__ == "__main__":
    unittest.main()
