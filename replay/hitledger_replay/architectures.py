"""From a model's configuration to the layers of its cache. What is not listed here is refused.

Field names are those of transformers' `config.json`. A configuration that leaves a needed field to a default of some
library version is refused too: the default is not in the file, so it would be a guess.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from reprlib import repr as short
from typing import Any

from hitledger_replay.errors import UnknownArchitectureError
from hitledger_replay.spec import LayerGroup, LayerKind

Config = Mapping[str, Any]
MAX_FIELD = 1 << 32
STATE_BYTES = {"conv": 2, "recurrent": 4}
"""Convolution state is kept in the model's 16-bit dtype, recurrent state in float32 (vLLM `mamba_utils.py` defaults)."""


def integer(config: Config, *names: str) -> int:
    """The first of `names` that the configuration has. Raises UnknownArchitectureError if it is no sane positive int."""
    for name in names:
        value = config.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < MAX_FIELD:
            raise UnknownArchitectureError(
                f"field {name!r} of the configuration is {short(value)}, not a positive integer"
            )
        return value
    kind = config.get("model_type")
    raise UnknownArchitectureError(
        f"the configuration of this {kind!r} model lacks {names[0]!r}; add it, it is no guess"
    )


def layer_groups(config: Config) -> tuple[LayerGroup, ...]:
    """The cache layers of the model. Raises UnknownArchitectureError for a type this module does not know."""
    model_type = config.get("model_type")
    reader = _READERS.get(model_type) if isinstance(model_type, str) else None
    if reader is None:
        known = ", ".join(sorted(_READERS))
        raise UnknownArchitectureError(
            f"unknown model_type {short(model_type)}: its cache layout is not guessed. Known: {known}"
        )
    return tuple(group for group in reader(config) if group.num_layers)


def _attention(config: Config, num_layers: int, window: int | None = None) -> LayerGroup:
    """MHA, GQA or MQA: KV heads decide, not query heads; a model without the field has as many as query heads."""
    query_heads = integer(config, "num_attention_heads", "n_head", "n_heads")
    kv_heads = integer(config, "num_key_value_heads", "num_kv_heads") if _has_kv_heads(config) else query_heads
    if query_heads % kv_heads:
        raise UnknownArchitectureError(f"{query_heads} query heads cannot share {kv_heads} KV heads evenly")
    if config.get("head_dim") is not None:
        head_dim = integer(config, "head_dim")
    else:
        hidden = integer(config, "hidden_size", "n_embd", "d_model")
        head_dim, rest = divmod(hidden, query_heads)
        if rest:
            raise UnknownArchitectureError(
                f"hidden size {hidden} is no multiple of {query_heads} heads; add 'head_dim'"
            )
    kind = LayerKind.FULL if window is None else LayerKind.SLIDING
    return LayerGroup(kind, num_layers, kv_heads, head_dim, head_dim, window)


def _has_kv_heads(config: Config) -> bool:
    return any(config.get(name) is not None for name in ("num_key_value_heads", "num_kv_heads"))


def _num_layers(config: Config) -> int:
    return integer(config, "num_hidden_layers", "n_layer", "n_layers")


def _dense(config: Config) -> list[LayerGroup]:
    return [_attention(config, _num_layers(config))]


def _windowed(config: Config) -> list[LayerGroup]:
    """Every layer slides if the window is set and not switched off (Mistral, Phi-3; Qwen2 has `use_sliding_window`)."""
    if config.get("layer_types") is not None:
        return _by_layer_types(config)
    if config.get("sliding_window") is None or config.get("use_sliding_window") is False:
        return _dense(config)
    layers = _num_layers(config)
    full = min(layers, integer(config, "max_window_layers")) if config.get("use_sliding_window") else 0
    window = integer(config, "sliding_window")
    return [_attention(config, full), _attention(config, layers - full, window)]


def _alternating(period: int) -> Callable[[Config], list[LayerGroup]]:
    """Every `period`-th layer is full, the others slide: Gemma 2 (2), Cohere2 (4), Gemma 3 (6)."""

    def read(config: Config) -> list[LayerGroup]:
        if config.get("layer_types") is not None:
            return _by_layer_types(config)
        pattern = config.get("sliding_window_pattern")
        step = integer(config, "sliding_window_pattern") if pattern is not None else period
        layers, window = _num_layers(config), integer(config, "sliding_window")
        full = layers // step
        return [_attention(config, full), _attention(config, layers - full, window)]

    return read


def _by_layer_types(config: Config) -> list[LayerGroup]:
    """`layer_types` names the kind of each layer."""
    types = config.get("layer_types")
    if not isinstance(types, list) or len(types) != _num_layers(config):
        raise UnknownArchitectureError("'layer_types' must be a list with one entry for each of num_hidden_layers")
    groups: list[LayerGroup] = []
    for kind, count in sorted(Counter(str(name) for name in types).items()):
        if kind == "full_attention":
            groups.append(_attention(config, count))
        elif kind == "sliding_attention":
            groups.append(_attention(config, count, integer(config, "sliding_window")))
        elif kind == "chunked_attention":
            groups.append(_attention(config, count, integer(config, "attention_chunk_size")))
        elif kind == "linear_attention":
            groups.append(_delta_net(config, count))
        else:
            raise UnknownArchitectureError(f"unknown layer type {short(kind)}: its cache layout is not guessed")
    return groups


def _falcon(config: Config) -> list[LayerGroup]:
    """Falcon-7B is MQA whatever `num_kv_heads` says; the new decoder architecture is GQA."""
    if config.get("multi_query") and not config.get("new_decoder_architecture"):
        return _dense({**config, "num_kv_heads": 1})
    return _dense(config)


def _mla(config: Config) -> list[LayerGroup]:
    """One latent and one rotary key for all heads: kv_lora_rank + qk_rope_head_dim."""
    rank, rope = integer(config, "kv_lora_rank"), integer(config, "qk_rope_head_dim")
    return [LayerGroup(LayerKind.LATENT, _num_layers(config), 0, rank + rope)]


def _indexed_mla(config: Config) -> list[LayerGroup]:
    """MLA with a sparse-attention indexer that keeps a key of its own for each token."""
    types = config.get("indexer_types")
    indexers = types.count("full") if isinstance(types, list) else _num_layers(config)
    return [*_mla(config), LayerGroup(LayerKind.INDEXER, indexers, 0, integer(config, "index_head_dim"))]


def _delta_net(config: Config, count: int) -> LayerGroup:
    """Gated DeltaNet: the last kernel - 1 inputs, and one key x value matrix for each value head."""
    keys = integer(config, "linear_num_key_heads") * integer(config, "linear_key_head_dim")
    value_heads, value_dim = integer(config, "linear_num_value_heads"), integer(config, "linear_value_head_dim")
    conv = (integer(config, "linear_conv_kernel_dim") - 1) * (2 * keys + value_heads * value_dim)
    recurrent = value_heads * integer(config, "linear_key_head_dim") * value_dim
    return LayerGroup(LayerKind.RECURRENT, count, state_bytes=_state(conv, recurrent))


def _delta_hybrid(config: Config) -> list[LayerGroup]:
    if config.get("layer_types") is not None:
        return _by_layer_types(config)
    layers = _num_layers(config)
    full = layers // integer(config, "full_attention_interval")
    return [_attention(config, full), _delta_net(config, layers - full)]


def _mamba(config: Config) -> list[LayerGroup]:
    inner = integer(config, "expand") * integer(config, "hidden_size")
    conv = (integer(config, "conv_kernel") - 1) * inner
    state = _state(conv, inner * integer(config, "state_size"))
    return [LayerGroup(LayerKind.RECURRENT, _num_layers(config), state_bytes=state)]


def _jamba(config: Config) -> list[LayerGroup]:
    """Attention in layers i with i % period == offset, Mamba in the others."""
    layers, period = _num_layers(config), integer(config, "attn_layer_period")
    offset = config.get("attn_layer_offset")
    if not isinstance(offset, int) or not 0 <= offset < period:
        raise UnknownArchitectureError(f"'attn_layer_offset' is {short(offset)}, not between 0 and {period - 1}")
    attention = len(range(offset, layers, period))
    inner = integer(config, "mamba_expand") * integer(config, "hidden_size")
    state = _state((integer(config, "mamba_d_conv") - 1) * inner, inner * integer(config, "mamba_d_state"))
    return [_attention(config, attention), LayerGroup(LayerKind.RECURRENT, layers - attention, state_bytes=state)]


def _state(conv_elements: int, recurrent_elements: int) -> int:
    return conv_elements * STATE_BYTES["conv"] + recurrent_elements * STATE_BYTES["recurrent"]


_DENSE = (
    "llama gemma granite olmo olmo2 opt gpt2 gptj gpt_neox phi stablelm cohere glm glm4 glm4_moe qwen2_moe mpt bloom"
)
_WINDOWED = "mistral ministral mixtral qwen2 qwen3 qwen3_moe phi3 starcoder2 smollm3"
_READERS: dict[str, Callable[[Config], list[LayerGroup]]] = {
    **dict.fromkeys(_DENSE.split(), _dense),
    **dict.fromkeys(_WINDOWED.split(), _windowed),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "kimi_k2", "minicpm3"), _mla),
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa"), _indexed_mla),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"), _delta_hybrid),
    **dict.fromkeys(("gpt_oss", "llama4_text"), _by_layer_types),
    **dict.fromkeys(("mamba", "falcon_mamba"), _mamba),
    "falcon": _falcon,
    "gemma2": _alternating(2),
    "cohere2": _alternating(4),
    "gemma3_text": _alternating(6),
    "jamba": _jamba,
}
