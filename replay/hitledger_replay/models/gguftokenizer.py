"""The tokenizer inside a GGUF file: byte-level BPE with the pre-tokenizer that its `tokenizer.ggml.pre` names.

The usual conversion ignores that name and splits digits and newlines wrongly (19 of 7,639 tokens of the GPL differ for
SmolLM2). The rules are llama.cpp's (`src/llama-vocab.cpp`; smollm: ggml-org/llama.cpp PR 8609).
"""

from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from hitledger_replay.errors import ReplayError
from hitledger_replay.models.gguffile import GgufFile

CONTROL, USER_DEFINED = 3, 4
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


class ByteLevelTokenizer:
    """Wraps a `tokenizers.Tokenizer` that was built from a file's lists."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def save(self, path: Path) -> None:
        """Write a `tokenizer.json`."""
        self._tokenizer.save(str(path))


def build_tokenizer(file: GgufFile) -> ByteLevelTokenizer:
    """Raises ReplayError for a vocabulary that is no byte-level BPE or whose pre-tokenizer is not known."""
    metadata = file.metadata
    kind, pre = metadata.get("tokenizer.ggml.model"), str(metadata.get("tokenizer.ggml.pre", "default"))
    tokens, merges = metadata.get("tokenizer.ggml.tokens"), metadata.get("tokenizer.ggml.merges")
    if kind != "gpt2" or not isinstance(tokens, list) or not isinstance(merges, list):
        raise ReplayError(f"{file.name}: tokenizer {kind!r} is not read; only byte-level BPE ('gpt2') is")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [_pair(merge) for merge in merges]))
    tokenizer.pre_tokenizer = _pre_tokenizer(pre, file.name)
    tokenizer.decoder = decoders.ByteLevel()
    types = metadata.get("tokenizer.ggml.token_type") or []
    special = [t for t, kind in zip(tokens, types, strict=False) if kind in (CONTROL, USER_DEFINED)]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return ByteLevelTokenizer(tokenizer)


def special_tokens(file: GgufFile) -> dict[str, str]:
    """The tokens a chat template may name."""
    tokens = file.metadata.get("tokenizer.ggml.tokens") or []
    found = {}
    for name, field in (("bos_token", "bos_token_id"), ("eos_token", "eos_token_id")):
        number = file.metadata.get(f"tokenizer.ggml.{field}")
        if isinstance(number, int) and 0 <= number < len(tokens):
            found[name] = str(tokens[number])
    return found


def _pair(merge: str) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    return left, right


def _pre_tokenizer(name: str, file: str) -> Any:
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name in ("gpt-2", "default"):
        return plain
    if name == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), plain])
    if name in ("qwen2", "llama-bpe", "llama3"):
        pattern = QWEN2 if name == "qwen2" else LLAMA3
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    raise ReplayError(f"{file}: pre-tokenizer {name!r} is not known; token ids would be wrong")
