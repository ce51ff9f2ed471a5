"""attnc as an attention implementation of transformers: small random models beside eager."""
import unittest

import torch
import transformers

import attnc
import attnc.torch.huggingface

SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "vocab_size": 100}
SHARED = {**SMALL, "num_key_value_heads": 2, "head_dim": 16}
# Logits are near 1; each layer's sums of f32 are in another order.
TOLERANCE = 1e-5


class Models(unittest.TestCase):
    def setUp(self):
        attnc.torch.huggingface.register()
        torch.manual_seed(0)
        self.tokens = torch.randint(0, 100, (2, 21))
        self.mask = torch.ones_like(self.tokens)
        self.mask[0, :5] = 0

    def logits(self, model, implementation, mask):
        model.set_attn_implementation(implementation)
        with torch.no_grad():
            return model(self.tokens, attention_mask=mask).logits[self.mask.bool()]

    def check(self, model):
        for mask in (None, self.mask):
            expected = self.logits(model.eval(), "eager", mask)
            torch.testing.assert_close(self.logits(model, "attnc", mask), expected, rtol=TOLERANCE,
                                       atol=TOLERANCE)

    def test_llama(self):
        self.check(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHARED)))

    def test_gemma_2_with_a_soft_cap_and_a_window(self):
        self.check(transformers.Gemma2ForCausalLM(
            transformers.Gemma2Config(**SHARED, sliding_window=8)))

    def test_gpt_oss_with_sinks(self):
        self.check(transformers.GptOssForCausalLM(transformers.GptOssConfig(
            **SHARED, sliding_window=8, num_local_experts=2, num_experts_per_tok=1)))

    def test_bert(self):
        self.check(transformers.BertForMaskedLM(transformers.BertConfig(**SMALL)))

    def test_generates_what_eager_does(self):
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHARED)).eval()
        texts = []
        for implementation in ("eager", "attnc"):
            model.set_attn_implementation(implementation)
            texts.append(model.generate(self.tokens, max_new_tokens=8, do_sample=False))
        self.assertTrue(torch.equal(*texts))

    def test_gradients(self):
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHARED))
        grads = []
        for implementation in ("eager", "attnc"):
            model.set_attn_implementation(implementation)
            loss = model(self.tokens, labels=self.tokens).loss
            grads.append(torch.autograd.grad(loss, list(model.parameters())))
        for own, expected in zip(*grads):
            torch.testing.assert_close(own, expected, rtol=1e-3, atol=1e-6)

    def test_refuses_dropout(self):
        model = transformers.BertForMaskedLM(transformers.BertConfig(**SMALL)).train()
        model.set_attn_implementation("attnc")
        with self.assertRaisesRegex(attnc.InvalidArgument, "attention_dropout"):
            model(self.tokens)


if __name__ == "__main__":
    unittest.main()
