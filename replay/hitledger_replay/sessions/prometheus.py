"""The cache's counters as Prometheus text, with vLLM's names and labels."""

from collections.abc import Iterator, Sequence

from hitledger.measurement import CallMeasurement
from hitledger_replay.cache import PagedCache
from hitledger_replay.moves import Tier

SOURCES = {Tier.DEVICE: "device", Tier.HOST: "host", Tier.DISK: "disk"}
BUCKETS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
"""vLLM's own buckets of the time to first token, in seconds."""


def prometheus_text(cache: PagedCache, calls: Sequence[CallMeasurement], model: str) -> str:
    """Exposition format 0.0.4. Token counts are of first admissions; a preempted request counts once."""
    return "\n".join(_lines(cache, calls, model)) + "\n"


def _lines(cache: PagedCache, calls: Sequence[CallMeasurement], model: str) -> Iterator[str]:
    stats, label = cache.stats, f'model_name="{_escaped(model)}"'
    pool = cache.pool
    used = 1 - (pool.num_free_blocks / (pool.num_blocks - 1))
    counters = (
        ("vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache.", stats.queries),
        ("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.", stats.hits),
        ("vllm:prompt_tokens_cached_total", "Prompt tokens that were not computed.", stats.hits),
        ("vllm:num_preemptions_total", "Preempted sequences.", stats.num_preemptions),
        ("vllm:request_prefill_kv_computed_tokens_sum", "Prompt tokens computed.", stats.queries - stats.hits),
    )
    for name, text, value in counters:
        yield from (f"# HELP {name} {text}", f"# TYPE {name} counter", f"{name}{{{label}}} {value}")
    name = "vllm:prompt_tokens_cached_by_source_total"
    yield from (f"# HELP {name} Cached prompt tokens by where they lay.", f"# TYPE {name} counter")
    for tier, source in SOURCES.items():
        yield f'{name}{{{label},source="{source}"}} {stats.hits_by_tier.get(tier, 0)}'
    name = "vllm:kv_cache_usage_perc"
    yield from (f"# HELP {name} Share of the blocks in use, 1 is all.", f"# TYPE {name} gauge")
    yield f"{name}{{{label}}} {used:.6g}"
    times = [call.ttft_ms / 1000 for call in calls if call.ttft_ms is not None]
    if times:
        yield from _histogram("vllm:time_to_first_token_seconds", times, label)


def _histogram(name: str, values: Sequence[float], label: str) -> Iterator[str]:
    yield from (f"# HELP {name} Seconds to the first token.", f"# TYPE {name} histogram")
    for bound in BUCKETS:
        yield f'{name}_bucket{{{label},le="{bound}"}} {sum(value <= bound for value in values)}'
    yield f'{name}_bucket{{{label},le="+Inf"}} {len(values)}'
    yield f"{name}_sum{{{label}}} {sum(values):.6f}"
    yield f"{name}_count{{{label}}} {len(values)}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
