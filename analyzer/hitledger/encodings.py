"""Which public vocabulary a model uses, and tiktoken encodings built from the vocabularies in this package.

Nothing is downloaded. Patterns and vocabularies are those of tiktoken 0.14 (`tiktoken_ext/openai_public.py`, MIT).
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

O200K, CL100K = "o200k_base", "cl100k_base"

_O200K_WORD = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K_CAPITAL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_O200K_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERNS = {
    O200K: "|".join(
        [
            rf"[^\r\n\p{{L}}\p{{N}}]?{_O200K_CAPITAL}*{_O200K_WORD}+{_O200K_ENDING}",
            rf"[^\r\n\p{{L}}\p{{N}}]?{_O200K_CAPITAL}+{_O200K_WORD}*{_O200K_ENDING}",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
    CL100K: (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s"
    ),
}

# Longest prefix wins. True: the model's own vocabulary; False: taken for it, because none is published.
_BY_PREFIX: dict[str, tuple[str, bool]] = {
    "gpt-3.5": (CL100K, True),
    "gpt-35": (CL100K, True),  # as Azure writes it
    "gpt-4": (CL100K, True),
    "gpt-4.1": (O200K, True),
    "gpt-4.5": (O200K, True),
    "gpt-4o": (O200K, True),
    "chatgpt-4o": (O200K, True),
    "gpt-5": (O200K, True),
    "gpt-6": (O200K, False),
    "gpt-oss": (O200K, True),
    "o1": (O200K, True),
    "o3": (O200K, True),
    "o4": (O200K, True),
    "codex-": (O200K, True),
    "text-embedding-3": (CL100K, True),
    "text-embedding-ada-002": (CL100K, True),
}

RUN_LIMIT = 4096  # tiktoken is slow on long runs without a boundary, and panics on a million spaces
_LONG_RUN = re.compile(rf"(?<!\s)\s{{{RUN_LIMIT + 1},}}|(?<!\S)\S{{{RUN_LIMIT + 1},}}")


@lru_cache(maxsize=1024)
def encoding_of(model: str) -> tuple[str, bool]:
    """Name of the encoding for a model, and whether it is the model's own."""
    name = model.rsplit("/", 1)[-1].removeprefix("ft:").lower()
    matches = [prefix for prefix in _BY_PREFIX if name.startswith(prefix)]
    return _BY_PREFIX[max(matches, key=len)] if matches else (O200K, False)


@cache
def load_encoding(name: str) -> "Encoding":
    """The encoding of that name. Special tokens are left out: in a prompt's text they are plain text."""
    from tiktoken import Encoding  # imported when first needed: most audits count nothing

    lines = (Path(__file__).parent / "vocab" / f"{name}.tiktoken").read_bytes().splitlines()
    ranks = {b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
    return Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


def parts_of(text: str) -> Iterator[str]:
    """The text in parts that are safe to encode, one part for nearly every text.

    Runs of more than 4,096 characters without a space (or of spaces alone) are cut every 4,096 characters, which
    changes a count by at most a token or two a cut.
    """
    start = 0
    for run in _LONG_RUN.finditer(text):
        for cut in range(run.start() + RUN_LIMIT, run.end(), RUN_LIMIT):
            yield text[start:cut]
            start = cut
    yield text[start:]
