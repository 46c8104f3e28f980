"""Token counts of segments: each distinct segment is tokenized once, whatever the number of calls that send it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hitledger.encodings import encoding_of, load_encoding, parts_of
from hitledger.errors import HitledgerError, UsageError
from hitledger.types import Kind, Segment

if TYPE_CHECKING:
    from tiktoken import Encoding
    from tokenizers import Tokenizer

CHARS_PER_TOKEN = 4  # English text (OpenAI help, "What are tokens"); for texts whose length alone is known
IMAGE_TOKENS = 1600  # Anthropic vision guide: the most that an image costs before it is scaled down
PAGE_TOKENS = 2250  # Anthropic PDF guide: 1,500 to 3,000 a page
CHARS_PER_PAGE = 100_000  # base64 of a page of an ordinary PDF; a rough guess
_BINARY = re.compile(r"blake2b:[0-9a-f]{32}:(\d{1,12})")  # what a layout leaves of base64 data: digest and length
DIGITS_PER_ID = 6  # "123456," less the comma


class Vocabulary(Protocol):
    """A way to turn text into token ids."""

    def ids(self, text: str) -> tuple[int, ...]:
        """Token ids; special tokens in the text are plain text."""
        ...

    def prefix_tokens(self, text: str, chars: int) -> int:
        """How many of the text's tokens lie wholly in its first `chars` characters."""
        ...


class PublicVocabulary:
    """A vocabulary shipped in this package, through tiktoken; loaded at the first text."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def _encoding(self) -> "Encoding":
        return load_encoding(self.name)

    def ids(self, text: str) -> tuple[int, ...]:
        """Token ids. Lone surrogates are counted as U+FFFD, as tiktoken does."""
        return tuple(i for part in parts_of(text) for i in self._encoding.encode_ordinary(part))

    def prefix_tokens(self, text: str, chars: int) -> int:
        """How many of the text's tokens lie wholly in its first `chars` characters."""
        left = len(_utf8(text[:chars]))
        ids = self.ids(text)
        for count, token in enumerate(ids):
            left -= len(self._encoding.decode_single_token_bytes(token))
            if left < 0:
                return count
        return len(ids)


class LocalVocabulary:
    """A model's own `tokenizer.json`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._loaded: Tokenizer | None = None

    @property
    def _tokenizer(self) -> "Tokenizer":
        if self._loaded is None:
            self._loaded = _load_tokenizer(self.path)
        return self._loaded

    def ids(self, text: str) -> tuple[int, ...]:
        """Token ids without begin and end marks."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def prefix_tokens(self, text: str, chars: int) -> int:
        """How many of the text's tokens lie wholly in its first `chars` characters."""
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return next((count for count, (_, end) in enumerate(offsets) if end > chars), len(offsets))


class TokenCounter:
    """Counts by model. `tokenizers` maps model names to `tokenizer.json` files; a `*` at the end matches the rest."""

    def __init__(self, tokenizers: Mapping[str, Path] | None = None) -> None:
        self._local = {name: LocalVocabulary(path) for name, path in (tokenizers or {}).items()}
        self._vocabularies: dict[str, Vocabulary] = {}
        self._counts: dict[str, dict[bytes, int]] = {}

    def is_exact(self, model: str) -> bool:
        """Whether texts are counted with the model's own vocabulary. False: the count is an estimate."""
        return self._local_name(model) is not None or encoding_of(model)[1]

    def count(self, segment: Segment, model: str) -> int:
        """Tokens of one segment. Without its text, and for images and files, an estimate whatever the model."""
        key = self._key(model)
        counts = self._counts.setdefault(key, {})
        found = counts.get(segment.digest)
        if found is None:
            found = counts[segment.digest] = self._count(segment, model)
        return found

    def ids(self, text: str, model: str = "") -> tuple[int, ...]:
        """Token ids of a text."""
        return self._vocabulary(model).ids(text)

    def prefix_tokens(self, text: str, chars: int, model: str = "") -> int:
        """How many of the text's tokens lie wholly in its first `chars` characters."""
        return self._vocabulary(model).prefix_tokens(text, chars)

    def _count(self, segment: Segment, model: str) -> int:
        text = segment.text
        if segment.kind is Kind.TOKENS:
            return segment.chars // DIGITS_PER_ID if text is None else text.count(",") + 1 if text else 0
        if segment.kind is Kind.IMAGE:
            return IMAGE_TOKENS
        if text is None:
            return -(-segment.chars // CHARS_PER_TOKEN)
        if segment.kind not in (Kind.DOCUMENT, Kind.TOOL_RESULT) or not (data := _BINARY.findall(text)):
            return len(self._vocabulary(model).ids(text))
        if segment.kind is Kind.DOCUMENT:
            return sum(PAGE_TOKENS * max(1, round(int(chars) / CHARS_PER_PAGE)) for chars in data)
        return len(self._vocabulary(model).ids(_BINARY.sub("", text))) + IMAGE_TOKENS * len(data)

    def _vocabulary(self, model: str) -> Vocabulary:
        key = self._key(model)
        if key not in self._vocabularies:
            self._vocabularies[key] = self._local[key] if key in self._local else PublicVocabulary(key)
        return self._vocabularies[key]

    def _key(self, model: str) -> str:
        return self._local_name(model) or encoding_of(model)[0]

    def _local_name(self, model: str) -> str | None:
        for name in self._local:
            if model == name or (name.endswith("*") and model.startswith(name[:-1])):
                return name
        return None


def parse_tokenizers(options: tuple[str, ...]) -> dict[str, Path]:
    """`MODEL=FILE` options as a mapping. Raises UsageError where one has another form or names no file."""
    found = {}
    for option in options:
        model, separator, path = option.partition("=")
        if not model or not separator or not Path(path).is_file():
            raise UsageError(f"--tokenizer {option}: give MODEL=FILE, with FILE a tokenizer.json that exists")
        found[model] = Path(path)
    return found


def _utf8(text: str) -> bytes:
    """The bytes that tiktoken tokenizes: lone surrogates as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _load_tokenizer(path: Path) -> "Tokenizer":
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise HitledgerError(f"{path}: reading a tokenizer.json needs hitledger[replay]") from error
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception for whatever the file holds
        raise HitledgerError(f"{path}: not a tokenizer.json that tokenizers can read: {error}") from error
    tokenizer.encode_special_tokens = True  # a special token written in a prompt is plain text
    return tokenizer
