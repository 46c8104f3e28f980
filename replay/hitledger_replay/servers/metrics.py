"""The server's own counters, from its `/metrics` page: what it says it looked up and found, before and after."""

import math
import re
from dataclasses import dataclass

from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.errors import ServerError

SAMPLE = re.compile(r"^(?P<name>[A-Za-z_:][\w:]*)(?:\{[^}\n]*\})?[ \t]+(?P<value>[-+.\deE]+)", re.MULTILINE)
BLOCK_SIZE = re.compile(r'\bblock_size="(\d{1,7})"')
QUERIES = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries")
COMPUTED = "llamacpp:prompt_tokens_total"  # without the cached ones
HITS = ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits", "llamacpp:prompt_tokens_cached_total")


@dataclass(frozen=True, slots=True)
class Counters:
    """Tokens since the server started; None for a counter that it does not have. `block_size` as it states it."""

    queries: int | None
    hits: int | None
    block_size: int | None


def read_counters(client: ServerClient) -> Counters:
    """All None where there is no metrics page."""
    try:
        text = client.get_text("/metrics")
    except ServerError:
        return Counters(None, None, None)
    totals: dict[str, float] = {}
    for match in SAMPLE.finditer(text):
        try:
            totals[match["name"]] = totals.get(match["name"], 0.0) + float(match["value"])
        except ValueError:
            continue
    stated = BLOCK_SIZE.search(text)
    queries, hits = _first(totals, QUERIES), _first(totals, HITS)
    computed = _first(totals, (COMPUTED,))
    if hits is not None and computed is not None:
        queries = computed + hits
    return Counters(queries, hits, int(stated[1]) if stated else None)


def _first(totals: dict[str, float], names: tuple[str, ...]) -> int | None:
    return next((int(totals[name]) for name in names if math.isfinite(totals.get(name, math.inf))), None)
