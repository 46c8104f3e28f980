"""A short calibration: prompts of random tokens, cold and mostly cached, until one takes long enough to show attention."""

from hitledger_replay.engine.engine import Engine
from hitledger_replay.engine.request import Request
from hitledger_replay.sessions.standin import standin_ids
from hitledger_replay.sessions.ttft import TtftSample

LENGTHS = (16, 64, 256, 1024, 2048, 4096, 8192, 16384)
CACHED_SHARES = (0.5, 0.9)
ENOUGH_SECONDS = 1.5
"""No longer prompt is tried after one that took so long."""
RUNS = 2


def calibrate(engine: Engine, vocabulary_size: int, max_tokens: int) -> tuple[TtftSample, ...]:
    """Warm up, then time each length cold and with half and nine tenths cached: the fastest of two runs each.

    The cache is empty afterwards. `max_tokens` is the longest prompt that may be used.
    """
    size = engine.options.block_size
    room = min(max_tokens, (engine.options.num_blocks - 2) * size // 2)
    lengths = [length for length in LENGTHS if length <= room] or [max(2, room)]
    _time(engine, standin_ids(b"warm-up", lengths[0], vocabulary_size), 0, "warm-up")
    samples: list[TtftSample] = []
    for length in lengths:
        ids = standin_ids(f"calibration {length}".encode(), length, vocabulary_size)
        cached = sorted({int(length * share) // size * size for share in CACHED_SHARES if length >= 4 * size} - {0})
        timed = [_fastest(engine, ids, num_cached) for num_cached in (0, *cached)]
        samples.extend(timed)
        if timed[0].seconds > ENOUGH_SECONDS:
            break
    engine.cache.clear()
    return tuple(samples)


def _fastest(engine: Engine, ids: tuple[int, ...], num_cached: int) -> TtftSample:
    runs = [_time(engine, ids, num_cached, f"calibration {len(ids)} {num_cached} {run}") for run in range(RUNS)]
    return min(runs, key=lambda sample: sample.seconds)


def _time(engine: Engine, ids: tuple[int, ...], num_cached: int, salt: str) -> TtftSample:
    if num_cached:
        engine.run_one(Request(f"{salt} prefix", ids[:num_cached], salt=salt))
    result = engine.run_one(Request(salt, ids, salt=salt))
    engine.cache.clear()
    return TtftSample(len(ids), result.num_cached_tokens, result.first_token.ttft)
