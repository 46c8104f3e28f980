"""From a GGUF file to a transformers model: Llama, Qwen2 and Qwen3, the architectures whose tensors map one to one."""

from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from hitledger_replay.errors import ReplayError, UnknownArchitectureError
from hitledger_replay.models.gguffile import GgufFile

LAYER_NAMES = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_q_norm.weight": "self_attn.q_norm.weight",
    "attn_k_norm.weight": "self_attn.k_norm.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}
OUTER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
ROTARY_TABLE = "rope_freqs.weight"
ARCHITECTURES = ("llama", "qwen2", "qwen3")


@dataclass(frozen=True, slots=True)
class _Fields:
    file: GgufFile
    architecture: str

    def get(self, name: str, default: Any = None) -> Any:
        value = self.file.metadata.get(f"{self.architecture}.{name}", default)
        if value is None:
            raise ReplayError(f"{self.file.name}: metadata {self.architecture}.{name} is missing")
        return value


def build_model(file: GgufFile, device: torch.device, dtype: torch.dtype) -> Any:
    """The model in eval mode. Raises UnknownArchitectureError for one that is not read, ReplayError for a damaged file."""
    try:
        return _build(file, device, dtype)
    except (ValueError, TypeError, KeyError, ArithmeticError, RuntimeError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise ReplayError(f"{file.name}: its metadata and its tensors do not make a model: {reason}") from error


def _build(file: GgufFile, device: torch.device, dtype: torch.dtype) -> Any:
    architecture = str(file.metadata.get("general.architecture"))
    if architecture not in ARCHITECTURES or ROTARY_TABLE in file.tensors:
        raise UnknownArchitectureError(
            f"{file.name}: GGUF architecture {architecture!r} (or its rotary table) is not read; "
            f"known: {', '.join(ARCHITECTURES)}. Use the model's folder in transformers format"
        )
    config = _config(_Fields(file, architecture))
    with torch.device("meta"):
        factory: Any = AutoModelForCausalLM
        model = factory.from_config(config, dtype=dtype)
    weights = {_target(name): _weight(file, name, config, dtype) for name in file.tensors}
    missing = set(model.state_dict()) - set(weights) - ({"lm_head.weight"} if config.tie_word_embeddings else set())
    unknown = set(weights) - set(model.state_dict())
    if missing or unknown:
        names = ", ".join(sorted(missing | unknown)[:4])
        raise ReplayError(f"{file.name}: its tensors do not fit the architecture ({names} …)")
    model.load_state_dict(weights, strict=False, assign=True)
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
    return model.eval().to(device)


def _config(fields: _Fields) -> Any:
    heads, hidden = int(fields.get("attention.head_count")), int(fields.get("embedding_length"))
    metadata, layers = fields.file.metadata, int(fields.get("block_count"))
    if layers > len(fields.file.tensors):
        raise ReplayError(f"{fields.file.name}: {layers} layers, but {len(fields.file.tensors)} tensors")
    shape: dict[str, Any] = {
        "vocab_size": fields.file.tensors["token_embd.weight"].shape[0],
        "hidden_size": hidden,
        "intermediate_size": int(fields.get("feed_forward_length")),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": int(fields.get("attention.head_count_kv", heads)),
        "head_dim": int(fields.get("attention.key_length", hidden // heads)),
        "max_position_embeddings": int(fields.get("context_length")),
        "rms_norm_eps": float(fields.get("attention.layer_norm_rms_epsilon")),
        "rope_theta": float(fields.get("rope.freq_base", 10000.0)),
        "tie_word_embeddings": "output.weight" not in fields.file.tensors,
        "bos_token_id": metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": metadata.get("tokenizer.ggml.eos_token_id"),
        "pad_token_id": None,
    }
    return AutoConfig.for_model(fields.architecture, **shape)


def _target(name: str) -> str:
    if name in OUTER_NAMES:
        return OUTER_NAMES[name]
    prefix, _, rest = name.partition(".")
    layer, _, inner = rest.partition(".")
    if prefix != "blk" or inner not in LAYER_NAMES:
        return name
    return f"model.layers.{layer}.{LAYER_NAMES[inner]}"


def _weight(file: GgufFile, name: str, config: Any, dtype: torch.dtype) -> torch.Tensor:
    weight = file.tensor(name, dtype)
    if config.model_type != "llama" or not name.endswith(("attn_q.weight", "attn_k.weight")):
        return weight
    heads = config.num_attention_heads if name.endswith("attn_q.weight") else config.num_key_value_heads
    return _split_halves(weight, heads)


def _split_halves(weight: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Llama files interleave the two halves of each rotary pair (llama.cpp's `permute`); transformers keeps them apart."""
    rows, columns = weight.shape
    pairs = weight.reshape(num_heads, rows // num_heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns).contiguous()
