"""The names that providers, SDKs and log writers give to token figures, and what each name says by itself.

Sources: Anthropic SDK 2.14, OpenAI SDK 3.57, botocore 1.44 (Converse), google-genai 3.6, DeepSeek and Moonshot API
pages, OpenTelemetry GenAI conventions, and the log formats read by this package.
"""

import re
from enum import Enum, auto
from functools import lru_cache

from msgspec import Struct


class Part(Enum):
    """What a figure counts."""

    INPUT = auto()
    TOOL_INPUT = auto()  # prompt tokens beside the input figure (Gemini's tool results)
    READ = auto()
    MISS = auto()  # the input without its cached part
    WRITE = auto()
    WRITE_SPLIT = auto()  # the part of the writes with one lifetime
    OUTPUT = auto()
    THOUGHTS = auto()  # output tokens beside the output figure (Gemini)
    REASONING = auto()  # output tokens, normally inside the output figure
    TOTAL = auto()
    KNOWN = auto()  # a share of another figure, priced like it
    UNKNOWN = auto()


class Convention(Enum):
    """Whether the input figure holds the cached and written tokens too."""

    INCLUSIVE = auto()
    EXCLUSIVE = auto()
    UNSAID = auto()


class Name(Struct, frozen=True):
    """What one field name says."""

    part: Part
    convention: Convention = Convention.UNSAID
    ttl: str = ""


_CONTAINERS = frozenset(
    [
        *("prompt_tokens_details", "input_tokens_details", "input_token_details", "prompt_details"),
        *("cache", "cache_creation", "cache_creation_token_details", "cache_creation_tokens_details"),
        *("cache_write_tokens_details", "completion_tokens_details", "output_tokens_details"),
        *("output_token_details", "completion_details"),
    ]
)

_PREFIX = re.compile(r"^(gen_ai\.usage\.|ai\.usage\.|llm\.usage\.|llm\.token_count\.)")
_DETAILS = re.compile(r"^(prompt|input)_(tokens_|token_)?details\.")
_SPLIT = re.compile(r"(?:cache_creation|cache_write|ephemeral|ttl)\w*?_(\d+[mh])(?:_|$)|cache_write(\d+[mh])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_NAMES: dict[tuple[Part, Convention], str] = {
    (Part.INPUT, Convention.INCLUSIVE): "prompt_tokens prompt_token_count total_input_tokens prompt",
    (Part.INPUT, Convention.UNSAID): "input_tokens input input_token_count tokens_in",
    (Part.INPUT, Convention.EXCLUSIVE): "input_other",
    (Part.TOOL_INPUT, Convention.UNSAID): "tool_use_prompt_token_count tool total_tool_use_tokens",
    (Part.READ, Convention.INCLUSIVE): (
        "cached_tokens cached_input_tokens cached_content_token_count prompt_cache_hit_tokens cached total_cached_tokens "
        "cached_prompt_tokens"
    ),
    (Part.READ, Convention.EXCLUSIVE): "cache_read_input_tokens cache.read cache_read",
    (Part.READ, Convention.UNSAID): (
        "cache_read_tokens cache_reads input_cache_read input_tokens_cache_read cache_read.input_tokens "
        "cache_read_input_token_count input_cached_tokens prompt_cache_read_tokens"
    ),
    (Part.MISS, Convention.UNSAID): "prompt_cache_miss_tokens",
    (Part.WRITE, Convention.EXCLUSIVE): (
        "cache_creation_input_tokens cache_write_input_tokens cache.write cache_write input_cache_creation"
    ),
    (Part.WRITE, Convention.UNSAID): (
        "cache_write_tokens cache_creation cache_creation_tokens cache_writes input_tokens_cache_write cache_creation.input_tokens "
        "cache_write_input_token_count prompt_cache_write_tokens"
    ),
    (Part.OUTPUT, Convention.UNSAID): (
        "output_tokens completion_tokens candidates_token_count output output_token_count tokens_out completion "
        "total_output_tokens"
    ),
    (Part.THOUGHTS, Convention.UNSAID): "thoughts_token_count thoughts total_thought_tokens",
    (Part.REASONING, Convention.UNSAID): (
        "reasoning_tokens reasoning_output_tokens reasoning completion_tokens_details.reasoning_tokens "
        "output_tokens_details.reasoning_tokens output_token_details.reasoning completion_details.reasoning "
        "reasoning.output_tokens"
    ),
    (Part.TOTAL, Convention.UNSAID): "total_tokens total_token_count total",
}
_TABLE = {name: Name(part, convention) for (part, convention), names in _NAMES.items() for name in names.split()}


def snake(name: str) -> str:
    """`cacheReadInputTokens` as `cache_read_input_tokens`."""
    return _CAMEL.sub("_", name).lower()


@lru_cache(maxsize=4096)
def is_container(raw: str) -> bool:
    """Whether the object of this name holds figures of the call."""
    return snake(raw) in _CONTAINERS


@lru_cache(maxsize=4096)
def name_of(raw: str) -> Name:
    """What a field, named by its dotted path inside the usage object, counts."""
    path = snake(raw)
    prefix = _PREFIX.match(path)
    path = path[prefix.end() :] if prefix else path
    if split := _SPLIT.search(path):
        return Name(Part.WRITE_SPLIT, ttl=split.group(1) or split.group(2))
    detail = _DETAILS.match(path)
    found = _TABLE.get(path[detail.end() :] if detail else path)
    if found is None:
        return Name(_share_of(path))
    if detail:  # a detail of the input figure is a part of it
        return Name(found.part, Convention.INCLUSIVE)
    if prefix and prefix.group(1) == "gen_ai.usage.":  # writers of these attributes disagree
        return Name(found.part)
    return found


def _share_of(path: str) -> Part:
    """Details of a known figure are known; anything else that counts tokens is not."""
    return Part.KNOWN if "." in path or "token" not in path else Part.UNKNOWN
