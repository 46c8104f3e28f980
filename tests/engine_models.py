"""Small random models for the engine's tests; one architecture each of those whose layers differ in kind."""

from functools import cache
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

torch.set_num_threads(1)  # these models are too small for two, which only wait for each other on a busy machine

VOCABULARY = 256
BASE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen3": {"head_dim": 16},
    "mistral": {"sliding_window": 24},
    "gemma": {"head_dim": 16, "num_key_value_heads": 1},
    "gemma2": {"head_dim": 16, "sliding_window": 16, "query_pre_attn_scalar": 16},
    "gemma3_text": {"head_dim": 16, "sliding_window": 16, "query_pre_attn_scalar": 16},
    "gpt_oss": {"head_dim": 16, "sliding_window": 16, "num_local_experts": 2, "num_experts_per_tok": 1},
    "deepseek_v3": {
        "num_key_value_heads": 4,
        "q_lora_rank": None,
        "kv_lora_rank": 16,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 16,
        "v_head_dim": 12,
        "first_k_dense_replace": 2,
    },
}
GPT2 = {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 1024}
SPECIAL = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


@cache
def random_model(kind: str, dtype: torch.dtype = torch.float32) -> Any:
    """The same weights for the same kind. Weights are larger than usual at the start, so attention is not flat."""
    shape = GPT2 if kind == "gpt2" else {**BASE, **ARCHITECTURES[kind]}
    config = AutoConfig.for_model(kind, **shape, **SPECIAL, initializer_range=0.1)
    torch.manual_seed(1)
    return AutoModelForCausalLM.from_config(config).eval().to(dtype)


def random_tokens(count: int, seed: int = 0) -> tuple[int, ...]:
    """Token ids of a prompt."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randint(0, VOCABULARY, (count,), generator=generator).tolist())


@torch.inference_mode()
def plain_logits(kind: str, tokens: tuple[int, ...]) -> torch.Tensor:
    """Last-token logits of the model as transformers runs it."""
    model = random_model(kind)
    model.set_attn_implementation("eager")
    logits: torch.Tensor = model(torch.tensor([tokens]), use_cache=False).logits[0, -1]
    return logits


def generated(kind: str, tokens: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Greedy tokens of transformers' own `generate`."""
    model = random_model(kind)
    model.set_attn_implementation("eager")
    ids = torch.tensor([tokens])
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=count, do_sample=False, pad_token_id=0
    )
    return tuple(out[0, len(tokens) :].tolist())
