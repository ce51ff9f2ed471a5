"""attnc as an attention implementation of Hugging Face's transformers.

    attnc.torch.huggingface.register()
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="attnc")
"""
from attnc import errors
from attnc.torch import _attention


def register(name="attnc"):
    """Makes `attn_implementation=name` of models be attnc's: causal and other masks, sliding
    windows, heads that share keys, soft caps and sinks. Tested with transformers 5.24."""
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.masking_utils import sdpa_mask
    except ImportError as error:
        raise errors.Unavailable(f"transformers cannot be used: {error}",
                                 "pip install 'transformers>=5.24'") from error
    AttentionInterface.register(name, attention_forward)
    AttentionMaskInterface.register(name, sdpa_mask)


def attention_forward(module, query, key, value, attention_mask, scaling=None, dropout=0.0,
                      softcap=None, s_aux=None, is_causal=None, position_bias=None, **_):
    """What transformers calls: query [B, H, Q, D], key and value [B, Hkv, KV, D], the result
    [B, Q, H, D]. Without a mask, and with more than one query, a module that is causal is masked
    from the first key."""
    if dropout:
        raise errors.InvalidArgument("attention has no dropout",
                                     "set attention_dropout to 0 in the model's config "
                                     "(attention_probs_dropout_prob of BERT), or call model.eval()")
    if position_bias is not None:
        raise errors.InvalidArgument("attention takes no position_bias",
                                     "use another attn_implementation for this model")
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    causal = bool(causal) and attention_mask is None and query.shape[2] > 1
    if attention_mask is not None:
        attention_mask = attention_mask[..., :key.shape[2]]
    result = _attention.capped_attention(query, key, value, attention_mask, causal, scaling,
                                         softcap, s_aux)
    return result.transpose(1, 2), None
