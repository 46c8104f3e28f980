"""A model ready to run, with what turns text into its token ids."""

from dataclasses import dataclass
from typing import Any, Protocol

from hitledger_replay.blockhash import CacheIdentity


class TextTokenizer(Protocol):
    """Turns rendered text into token ids."""

    def ids(self, text: str) -> tuple[int, ...]:
        """Token ids; names of special tokens in the text become these tokens, as a rendered chat template needs."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """`chat_template` is the model's own, None where it has none. `note` says what a reader of results must know."""

    name: str
    model: Any
    tokenizer: TextTokenizer
    chat_template: str | None
    special_tokens: dict[str, str]
    """Names a template may use: bos_token, eos_token, …"""
    max_tokens: int
    identity: CacheIdentity
    note: str = ""

    @property
    def vocabulary_size(self) -> int:
        """Token ids are below this."""
        return int(self.model.get_input_embeddings().num_embeddings)
