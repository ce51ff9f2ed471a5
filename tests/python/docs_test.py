"""The examples of the docs of PyTorch, and README's, run as they stand.

usage: docs_test.py SOURCE
"""
import pathlib
import re
import sys

import torch
import transformers

import attnc.torch.huggingface

source = pathlib.Path(sys.argv[1])
torch.manual_seed(0)
q, k, v, q2, k2 = (torch.randn(2, 4, 40, 64) for _ in range(5))
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
    hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4))
names = {"torch": torch, "attnc": attnc, "q": q, "k": k, "v": v, "q2": q2, "k2": k2,
         "model": model, "document": torch.randint(0, 3, (2, 40)),
         "score_mod": lambda s, b, h, i, j: s + j,
         "function": lambda q, k, v: (q @ k.mT).softmax(-1) @ v}
for page in ("docs/pytorch.md", "README.md"):
    blocks = re.findall(r"^```python\n(.*?)^```", (source / page).read_text(), re.M | re.S)
    assert blocks, f"{page} has no examples"
    for block in blocks:
        exec(compile(block, page, "exec"), names)
        assert names["o"].shape == v.shape, f"{page}:\n{block}"
    print(f"{page}: {len(blocks)} examples")
