"""A short calibration: prompts of random tokens, cold and mostly cached, until one takes long enough to show attention."""

from hitledger_replay.engine.engine import Engine
from hitledger_replay.engine.request import Request
from hitledger_replay.sessions.standin import standin_ids
from hitledger_replay.sessions.ttft import TtftSample

LENGTHS = (16, 64, 256, 1024, 2048, 4096, 8192, 16384)
CACHED_SHARES = (0.5, 0.9)
ENOUGH_SECONDS, ENOUGH_TOKENS = 3.0, 1024
"""No longer prompt is tried after one of so many tokens that took so long."""
RUNS = 3


def calibrate(engine: Engine, vocabulary_size: int, max_tokens: int) -> tuple[TtftSample, ...]:
    """Warm up, then time each length cold and with half and nine tenths cached: the fastest of three runs each.

    A cold prompt leaves what the next ones share. The cache is empty afterwards. `max_tokens` is the longest prompt
    that may be used; the pool must hold eight times as much.
    """
    room = min(max_tokens, (engine.options.num_blocks - 2) * engine.options.block_size // (2 * RUNS + 2))
    lengths = [length for length in LENGTHS if length <= room] or [max(2, room)]
    _time(engine, standin_ids(b"warm-up", lengths[0], vocabulary_size))
    samples: list[TtftSample] = []
    for length in lengths:
        rounds = [_round(engine, length, number, vocabulary_size) for number in range(RUNS)]
        samples.extend(min(runs, key=lambda sample: sample.seconds) for runs in zip(*rounds, strict=True))
        engine.cache.clear()
        if length >= ENOUGH_TOKENS and samples[-len(rounds[0])].seconds > ENOUGH_SECONDS:
            break
    return tuple(samples)


def _round(engine: Engine, length: int, number: int, vocabulary_size: int) -> list[TtftSample]:
    size = engine.options.block_size
    base = standin_ids(f"calibration {length} {number}".encode(), length, vocabulary_size)
    samples = [_time(engine, base)]
    for share in CACHED_SHARES:
        kept = int(length * share) // size * size
        if kept:
            tail = standin_ids(f"tail {length} {number} {share}".encode(), length - kept, vocabulary_size)
            samples.append(_time(engine, (*base[:kept], *tail)))
    return samples


def _time(engine: Engine, ids: tuple[int, ...]) -> TtftSample:
    result = engine.run_one(Request("calibration", ids))
    return TtftSample(len(ids), result.num_cached_tokens, result.first_token.ttft)
