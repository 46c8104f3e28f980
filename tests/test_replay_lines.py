"""What `hitledger replay` prints: short, within 80 columns, the worst calls first."""

from dataclasses import replace

from hitledger.measurement import (
    MEASUREMENT_VERSION,
    PLAN_MODE,
    SERVER_MODE,
    CallMeasurement,
    FittedTtft,
    Measurement,
    UnreplayedCall,
)
from hitledger.types import Certainty
from hitledger_replay.sessions.lines import measurement_lines

CALL = CallMeasurement(
    id="c",
    session="s",
    agent="",
    prompt_tokens=1_000_000,
    output_tokens=1,
    ideal_cached_tokens=900_000,
    expected_cached_tokens=900_000,
    measured_cached_tokens=900_000,
    reported_cache_read_tokens=None,
    recomputed_tokens=0,
    reasons={},
    cached_by_tier={},
    reused_bytes=None,
    copied_blocks=0,
    tail_slots=0,
    provenance="text",
    certainty=Certainty.EXACT,
    note="",
)


def broken(name: str, again: int, ttft: float | None = None, unbroken: float | None = None) -> CallMeasurement:
    cached = 900_000 - again
    return replace(
        CALL,
        id=name,
        expected_cached_tokens=cached,
        measured_cached_tokens=cached,
        recomputed_tokens=again,
        ttft_ms=ttft,
        ttft_without_break_ms=unbroken,
    )


def measurement(*calls: CallMeasurement, unreplayed: tuple[UnreplayedCall, ...] = ()) -> Measurement:
    return Measurement(
        schema_version=MEASUREMENT_VERSION,
        engine="hitledger",
        model="tiny",
        model_note="random weights: reuse and time are real, the text is not",
        device="cpu, 2 threads",
        mode="tiny",
        kv_dtype="model",
        block_size=16,
        concurrency=1,
        policy=None,
        scale=1.0,
        calls=calls,
        unreplayed=unreplayed,
        ttft_model=FittedTtft(20.2, 0.00627, 5.7e-5, 10, 0.63),
    )


def test_a_few_calls_are_all_shown_in_the_order_of_the_log() -> None:
    lines = list(measurement_lines(measurement(CALL, broken("b", 500, 20_123.45, 1_000.0))))
    assert lines[2].split() == ["call", "prompt", "expected", "measured", "reported", "again", "TTFT", "ms", "unbroken"]
    assert lines[3].split() == ["c", "1,000,000", "900,000", "900,000", "-", "0", "-", "-"]
    assert lines[4].split() == ["b", "1,000,000", "899,500", "899,500", "-", "500", "20,123.5", "1,000.0"]
    assert lines[5:8] == [
        "1,799,500 of 2,000,000 prompt tokens reused (90.0%)",
        "expected = measured on 2 of 2 calls",
        "1 broken call computed 500 tokens again: 19,123 ms more until the first token",
    ]
    assert max(map(len, lines)) <= 80


def test_a_plan_shows_predicted_times() -> None:
    planned = replace(CALL, predicted_ttft_ms=12.34, predicted_ttft_without_break_ms=5.0)
    lines = list(measurement_lines(replace(measurement(planned), mode=PLAN_MODE)))
    assert lines[2].split() == ["call", "prompt", "expected", "measured", "reported", "again", "predicted", "unbroken"]
    assert lines[3].split() == ["c", "1,000,000", "900,000", "900,000", "-", "0", "12.3", "5.0"]


def test_of_many_calls_the_worst_are_shown_differences_first() -> None:
    different = replace(broken("different", 1), expected_cached_tokens=5)
    calls = (*(broken(f"b{again}", again) for again in range(16, 192, 16)), *[CALL] * 50, different)
    lines = list(measurement_lines(measurement(*calls)))
    assert [line.split()[0] for line in lines[3:13]] == ["different", *(f"b{again}" for again in range(176, 32, -16))]
    assert lines[13] == "the worst 10 of 12 broken calls; --all shows every call"
    assert "expected = measured on 61 of 62 calls" in lines
    assert max(map(len, lines)) <= 80


def test_many_calls_without_a_break_are_sums_only() -> None:
    lines = list(measurement_lines(measurement(*[CALL] * 50)))
    assert not [line for line in lines if line.startswith("call ")]
    assert "no break made the engine compute a token again" in lines


def test_every_call_on_request() -> None:
    lines = list(measurement_lines(measurement(*[CALL] * 50), every_call=True))
    assert sum(line.startswith("c ") for line in lines) == 50
    assert "predicted" in lines[2]


def test_calls_that_were_not_run_are_counted_by_reason() -> None:
    left = tuple(
        UnreplayedCall(name, "s", reason) for name, reason in (("a", "x\x1b[2J"), ("b", "refused"), ("c", "refused"))
    )
    assert list(measurement_lines(measurement(CALL, unreplayed=left)))[4:6] == [
        "2 calls not replayed: refused",
        "1 call not replayed: x?[2J",
    ]
    assert "a               not replayed: x?[2J" in measurement_lines(
        measurement(CALL, unreplayed=left), every_call=True
    )


def test_a_break_lost_in_the_noise_costs_no_negative_time() -> None:
    lines = list(measurement_lines(measurement(broken("b", 16, 10.0, 12.0))))
    assert "1 broken call computed 16 tokens again: no more time than this machine's noise" in lines


def test_a_server_is_named_by_the_rule_that_is_expected_and_cannot_move_the_cursor() -> None:
    served = replace(measurement(CALL), engine="llama.cpp", model="m\x1b[2J", mode=SERVER_MODE, block_size=1)
    assert next(measurement_lines(served)) == "m?[2J on a server, by the rule of llama.cpp, blocks of 1 token"
