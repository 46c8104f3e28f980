"""The usage of a row in the shape that nearly all rows have, decoded without a dict."""

from typing import Annotated, Any

import msgspec

from hitledger.types import CacheWrite, Usage
from hitledger.usage import MAX_TOKENS, is_one_round

Tokens = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS // 4)]  # the four figures together are a count then


class Split(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """Written tokens by lifetime."""

    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0


class ServerTools(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """How often the provider ran its own tools."""

    web_search_requests: int = 0
    web_fetch_requests: int = 0


class Figures(msgspec.Struct, kw_only=True, gc=False, forbid_unknown_fields=True):
    """Usage with the keys that are known, in the order in which rows have them."""

    input_tokens: Tokens
    cache_creation_input_tokens: Tokens
    cache_read_input_tokens: Tokens
    cache_creation: Split | None = None
    output_tokens: Tokens
    server_tool_use: ServerTools | None = None
    service_tier: Any = None
    inference_geo: Any = None
    iterations: Any = None
    speed: Any = None
    output_tokens_details: Any = None


class OtherFigures(msgspec.Struct, gc=False):
    """Usage of any other shape: what is asked of each row of an answer."""

    output_tokens: int
    service_tier: Any
    inference_geo: Any
    speed: Any


def other_figures(raw: dict[str, Any]) -> OtherFigures:
    """A usage object of any shape."""
    output = raw.get("output_tokens")
    tokens = output if type(output) is int else 0
    return OtherFigures(tokens, raw.get("service_tier"), raw.get("inference_geo"), raw.get("speed"))


def plain_usage(figures: Figures) -> Usage | None:
    """Token classes where they are the figures themselves, None where `read_usage` has to look at more."""
    tools, split, written = figures.server_tool_use, figures.cache_creation, figures.cache_creation_input_tokens
    if figures.output_tokens_details is not None or not is_one_round(figures.iterations):
        return None
    if tools is not None and (tools.web_search_requests or tools.web_fetch_requests):
        return None
    writes: tuple[CacheWrite, ...] = ()
    if split is not None:
        short, long = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
        if short + long != written or (short and long):
            return None
        if written:
            writes = (CacheWrite("5m" if short else "1h", written),)
    elif written:
        return None
    return Usage(figures.input_tokens, figures.cache_read_input_tokens, writes, figures.output_tokens)
