"""A small Llama with random weights: it says nothing of use, but its keys and values are as real as any.

It shows that cached bytes are really reused, at any length and in seconds, with no download. Its vocabulary is the
one shipped with hitledger, so text is cut into the same tokens as in the audit.
"""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from hitledger.tokens import PublicVocabulary
from hitledger_replay.blockhash import CacheIdentity
from hitledger_replay.models.loaded import LoadedModel

VOCABULARY = "o200k_base"
VOCABULARY_SIZE = 200_019
SEED = 20260101
MAX_TOKENS = 1 << 20


class ShippedTokenizer:
    """tiktoken's vocabulary; special tokens in a text are plain text."""

    def __init__(self, name: str = VOCABULARY) -> None:
        self._vocabulary = PublicVocabulary(name)

    def ids(self, text: str) -> tuple[int, ...]:
        return self._vocabulary.ids(text)


def tiny_model(device: torch.device, dtype: torch.dtype, num_layers: int = 2, hidden_size: int = 64) -> LoadedModel:
    """The same weights on every machine: a fixed seed on the CPU, then moved."""
    config = LlamaConfig(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=hidden_size,
        intermediate_size=3 * hidden_size // 2,
        num_hidden_layers=num_layers,
        num_attention_heads=4,
        num_key_value_heads=1,
        max_position_embeddings=MAX_TOKENS,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model: Any = LlamaForCausalLM(config)
        model = model.eval().to(device=device, dtype=dtype)
    return LoadedModel(
        name="tiny",
        model=model,
        tokenizer=ShippedTokenizer(),
        chat_template=None,
        special_tokens={},
        max_tokens=MAX_TOKENS,
        identity=CacheIdentity("tiny", revision=f"{num_layers}x{hidden_size}", dtype=str(dtype), tokenizer=VOCABULARY),
        note="random weights: reuse and time are real, the text is not",
    )
