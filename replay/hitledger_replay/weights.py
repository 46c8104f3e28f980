"""How many parameters a dense decoder has, exactly, where its layer shapes follow from the configuration."""

from collections.abc import Mapping
from typing import Any

from hitledger_replay.architectures import integer

WEIGHT_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_GATED = frozenset({"llama", "mistral", "qwen2", "qwen3"})


def parameter_count(config: Mapping[str, Any]) -> int | None:
    """Parameters of a Llama-shaped model; None for any other, since a formula that almost fits is a guess.

    Per layer: q, o of hidden x (heads * head_dim); k, v of hidden x (kv_heads * head_dim); three MLP matrices; two norms.
    Qwen2 adds biases to q, k, v; Qwen3 a norm of head_dim to q and k. Around it: embeddings, final norm, output head.
    """
    kind = config.get("model_type")
    if kind not in _GATED or "vocab_size" not in config or "intermediate_size" not in config:
        return None
    hidden, heads = integer(config, "hidden_size"), integer(config, "num_attention_heads")
    head_dim = integer(config, "head_dim") if config.get("head_dim") is not None else hidden // heads
    query = heads * head_dim
    keys = integer(config, "num_key_value_heads", "num_attention_heads") * head_dim
    layer = 2 * hidden * query + 2 * hidden * keys + 3 * hidden * integer(config, "intermediate_size") + 2 * hidden
    if kind == "qwen2" or config.get("attention_bias") is True:
        layer += query + 2 * keys + (hidden if kind != "qwen2" else 0)
    if kind == "qwen3":
        layer += 2 * head_dim
    embeddings = integer(config, "vocab_size") * hidden * (1 if config.get("tie_word_embeddings") is True else 2)
    return integer(config, "num_hidden_layers") * layer + embeddings + hidden


def weight_bytes(config: Mapping[str, Any]) -> int | None:
    """Bytes of the weights in the configuration's dtype; None where shape or dtype do not settle it."""
    if config.get("quantization_config"):
        return None
    count = parameter_count(config)
    size = WEIGHT_BYTES.get(str(config.get("dtype") or config.get("torch_dtype")))
    return None if count is None or size is None else count * size
