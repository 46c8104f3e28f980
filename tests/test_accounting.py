"""The 30 accounting vectors: usage and cost questions that tools get wrong, each answered here, with the vectors' prices.

Where a vector is about rows of a log, it is written as that log and read by its reader. `wrong` is the answer seen in
the wild; no test passes with it.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hitledger.billing import Cost, cost_of, costs_of, rates_of
from hitledger.logs.captured.sse import fold_text
from hitledger.logs.read import read_logs
from hitledger.prices import PriceBook, Rates, UnknownPrice
from hitledger.types import Call, Evidence, Place, Usage, prompt_of
from hitledger.usage import read_usage

FILE = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "accounting" / "vectors.json").read_text(), parse_float=Decimal
)
VECTORS = {vector["id"]: vector for vector in FILE["vectors"]}
WRITE_NAMES = {"w5": "5m", "w1h": "1h", "write": "30m"}
NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)


def prices_toml() -> str:
    """The vectors' own price table as a prices file of the provider `vectors`."""
    rows = []
    for model, price in FILE["prices"].items():
        for end, above in (("", 0), ("_over", price.get("over", 0))):
            if f"in{end}" not in price:
                continue
            writes = {ttl: price[f"{key}{end}"] for key, ttl in WRITE_NAMES.items() if f"{key}{end}" in price}
            listed = ", ".join(f'"{ttl}" = "{rate}"' for ttl, rate in writes.items())
            rows.append(
                f'[[price]]\nprovider = "vectors"\nmodels = ["{model}"]\nabove = {above}\n'
                f'input = "{price[f"in{end}"]}"\ncache_read = "{price[f"read{end}"]}"\n'
                f'output = "{price[f"out{end}"]}"\ncache_write = {{ {listed} }}\nsource = "vectors.json"\n'
                "checked = 2026-11-29\n"
            )
        if "fast_multiplier" in price:
            rows.append(
                f'[[modifier]]\nprovider = "vectors"\nmodels = ["{model}"]\ntier = "priority"\n'
                f'factor = "{price["fast_multiplier"]}"\nsource = "vectors.json"\nchecked = 2026-11-29\n'
            )
    return "schema = 1\n" + "\n".join(rows)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> PriceBook:
    path = tmp_path_factory.mktemp("prices") / "vectors.toml"
    path.write_text(prices_toml())
    return PriceBook(path)


def vector(name: str) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """Rows, the right answer and the wrong one."""
    found = VECTORS[name]
    return found["rows"], found["expected"], found["wrong"]


def usage_of(row: dict[str, Any]) -> tuple[Usage, tuple[str, ...]]:
    raw = row.get("usage") or row.get("attributes") or row.get("usage_details")
    assert raw is not None
    if "w5" in raw:  # the vectors' short name
        raw = {k: v for k, v in raw.items() if k != "w5"} | {"cache_creation_input_tokens": raw["w5"]}
        raw["cache_creation"] = {"ephemeral_5m_input_tokens": raw["cache_creation_input_tokens"]}
    usage, notes = read_usage(raw)
    assert usage is not None
    return usage, notes


def call_of(row: dict[str, Any], **fields: Any) -> Call:
    usage = usage_of(row)[0] if row.get("usage") else None
    return Call(
        id="c",
        session="s",
        agent="main",
        place=Place("vectors.json", 1),
        provider="vectors",
        model=row.get("model", ""),
        evidence=Evidence.USAGE_ONLY,
        prompt=prompt_of(()),
        started_at=NOON,
        usage=usage,
        **fields,
    )


def cost(book: PriceBook, row: dict[str, Any], **fields: Any) -> Cost:
    (found,) = costs_of(book, [call_of(row, **fields)])
    assert isinstance(found, Cost)
    return found


# rows of a transcript


def claude_rows(rows: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, row in enumerate(rows):
        message = {
            "id": row["message_id"],
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "x"}],
            "usage": row["usage"],
        }
        yield (
            row.get("file", "session.jsonl"),
            {
                "type": "assistant",
                "uuid": row.get("uuid", f"u{number}"),
                "parentUuid": None,
                "sessionId": row.get("sessionId", "A"),
                "requestId": row.get("request_id"),
                "timestamp": f"2026-08-01T10:00:{number:02d}.000Z",
                "isSidechain": False,
                "message": message,
            },
        )


def codex_rows(rows: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    total: dict[str, dict[str, int]] = {}
    for number, row in enumerate(rows):
        file = row.get("file", "rollout") + ".jsonl"
        stamp = row.get("ts", f"2026-08-01T10:00:{number:02d}Z")
        if row.get("type") == "session_meta":
            payload = {key: row[key] for key in ("id", "forked_from_id") if key in row}
            yield file, {"timestamp": stamp, "type": "session_meta", "payload": payload}
            continue
        if file not in total:
            yield file, {"timestamp": stamp, "type": "turn_context", "payload": {"model": "gpt-5"}}
        before = total.setdefault(file, {})
        after = row.get("total") or {key: before.get(key, 0) + value for key, value in row["last"].items()}
        total[file] = after
        info = {"total_token_usage": after, "last_token_usage": row["last"]}
        yield file, {"timestamp": stamp, "type": "event_msg", "payload": {"type": "token_count", "info": info}}


def calls_of(folder: Path, rows: Iterator[tuple[str, dict[str, Any]]]) -> list[Call]:
    for file, row in rows:
        with (folder / file).open("a") as out:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
    return list(read_logs([str(folder)]).calls())


def total(calls: list[Call], what: str) -> int:
    return sum(getattr(call.usage, what) or 0 for call in calls)


def test_a01_the_row_with_the_largest_output(tmp_path: Path) -> None:
    rows, right, wrong = vector("A01")
    calls = calls_of(tmp_path, claude_rows(rows))
    assert len(calls) == right["requests"]
    assert total(calls, "output_tokens") == right["output_tokens"] != wrong["output_tokens"]
    assert total(calls, "cache_write_tokens") == right["cache_creation_input_tokens"]


def test_a02_one_row_a_content_block(tmp_path: Path) -> None:
    rows, right, wrong = vector("A02")
    calls = calls_of(tmp_path, claude_rows(rows))
    assert len(calls) == right["requests"]
    read = total(calls, "cache_read_tokens")
    assert read == right["cache_read_input_tokens"] != wrong["cache_read_input_tokens"]
    assert total(calls, "output_tokens") == right["output_tokens"]


def test_a03_without_a_request_id_the_message_id_counts(tmp_path: Path) -> None:
    rows, right, wrong = vector("A03")
    calls = calls_of(tmp_path, claude_rows(rows))
    assert len(calls) == right["requests"]
    assert total(calls, "input_tokens") == right["input_tokens"] != wrong["input_tokens"]
    assert total(calls, "output_tokens") == right["output_tokens"]


def test_a04_rows_copied_into_a_fork(tmp_path: Path) -> None:
    rows, right, wrong = vector("A04")
    calls = calls_of(tmp_path, codex_rows(rows))
    assert len(calls) == right["requests"]
    assert total(calls, "input_tokens") == right["input_tokens"] != wrong["input_tokens"]
    assert total(calls, "output_tokens") == right["output_tokens"]
    second_day = [call for call in calls if call.ended_at and call.ended_at.day == 2]
    assert total(second_day, "input_tokens") == right["day_2026-08-02_input"]


def test_a05_rows_copied_into_another_transcript(tmp_path: Path) -> None:
    rows, right, wrong = vector("A05")
    calls = calls_of(tmp_path, claude_rows(rows))
    assert len(calls) == right["requests"]
    assert total(calls, "output_tokens") == right["output_tokens"] != wrong["output_tokens"]


def test_a06_cumulative_totals(tmp_path: Path) -> None:
    rows, right, wrong = vector("A06")
    calls = calls_of(tmp_path, codex_rows(rows))
    assert total(calls, "input_tokens") == right["input_tokens"] != wrong["input_tokens"]
    assert total(calls, "output_tokens") == right["output_tokens"]


def test_a28_a_stream_repeats_its_prompt_figures() -> None:
    rows, right, wrong = vector("A28")
    start, delta = rows
    events = [
        {"type": "message_start", "message": {"id": "m", "content": [], "usage": start["usage"]}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": delta["usage"]},
        {"type": "message_stop"},
    ]
    stream = fold_text("".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events))
    assert stream is not None
    usage, _ = read_usage(stream.body["usage"])
    assert usage is not None
    assert usage.cache_read_tokens == right["cache_read_input_tokens"] != wrong["cache_read_input_tokens"]
    assert usage.output_tokens == right["output_tokens"]


# cost of one row


@pytest.mark.parametrize("name", ["A07", "A08", "A09", "A15", "A16", "A18", "A19", "A24"])
def test_cost(book: PriceBook, name: str) -> None:
    (row,), right, wrong = vector(name)
    found = cost(book, row)
    assert found.total == right["cost_usd"]
    if "cost_usd" in wrong:
        assert found.total != wrong["cost_usd"]
    if "uncached_input" in right:
        usage, _ = usage_of(row)
        assert usage.uncached_input_tokens == right["uncached_input"] != wrong["uncached_input"]
    if "assumed" in right:
        assert found.notes[0] == "write lifetime not logged: priced as the default one"


@pytest.mark.parametrize("name", ["A10", "A11", "A12", "A13", "A14"])
def test_disjoint_input(name: str) -> None:
    (row,), right, wrong = vector(name)
    usage, _ = usage_of(row)
    if "uncached_input" in right:
        assert usage.uncached_input_tokens == right["uncached_input"] != wrong.get("uncached_input")
    if "total_input" in right:
        assert usage.input_tokens == right["total_input"] != wrong.get("total_input")
    if "total_tokens" in right:
        everything = usage.input_tokens + (usage.output_tokens or 0)
        assert everything == right["total_tokens"] != wrong["total_tokens"]


def test_a13_a14_mended_figures_are_noted_and_cost_no_less_than_nothing(book: PriceBook) -> None:
    (over,), right, _ = vector("A13")
    assert usage_of(over)[1] == ("cache_read_exceeds_input",)
    assert cost(book, over).total >= right["cost_min"]
    (negative,), _, _ = vector("A14")
    assert usage_of(negative)[1] == ("negative_input",)
    whole_hit, _ = read_usage({"input_tokens": 0, "cache_read_input_tokens": 8000, "output_tokens": 5})
    assert whole_hit == Usage(0, 8000, None, 5)


def test_a17_half_a_split_loses_nothing(book: PriceBook) -> None:
    (row,), right, wrong = vector("A17")
    usage, notes = usage_of(row)
    assert usage.cache_write_tokens == right["written_tokens"] != wrong["written_tokens"]
    assert "write_split_incomplete" in notes
    found = cost(book, row)
    assert found.total == Decimal("0.00465")  # 400 x 6 + 600 x 3.75 per million
    assert found.notes[0] == "write lifetime not logged: priced as the default one"


# tiers


def test_a20_the_cliff_counts_the_whole_prompt() -> None:
    (row,), right, _ = vector("A20")
    usage, _ = usage_of(row)
    assert usage == Usage(270_000, 5_000, usage.cache_writes, None)
    for length, tier in ((usage.input_tokens, "long"), (usage.uncached_input_tokens, "short")):
        rates = PriceBook().rates("gpt-5.6-terra", "openai", NOON, "", length)
        assert rates.above == (right["threshold"] if tier == "long" else 0)
    assert right["tier"] == "long"


def test_a21_the_cliff_is_one_calls_own(book: PriceBook) -> None:
    rows, _, _ = vector("A21")
    for row in rows:
        call = call_of(row)
        assert call.usage is not None
        rates = rates_of(book, call, call.usage.input_tokens)
        assert isinstance(rates, Rates)
        assert rates.above == 0
    assert sum(cost(book, row).total for row in rows) == Decimal("0.7503")  # 250,000 x 3 + 20 x 15 per million


@pytest.mark.parametrize("name", ["A22", "A23"])
def test_the_served_tier_decides(book: PriceBook, name: str) -> None:
    (row,), right, wrong = vector(name)
    served = row["service_tier_served"]
    found = cost(book, row, tier="" if served == "default" else served)
    assert found.total == right["cost_usd"] != wrong["cost_usd"]


# unknown is not zero


def test_a25_an_unpriced_model_makes_the_total_a_lower_bound(book: PriceBook) -> None:
    rows, right, _ = vector("A25")
    found = costs_of(book, [call_of(row) for row in rows])
    assert sum(one.total for one in found if isinstance(one, Cost)) == right["cost_usd_known"]
    unpriced = [one for one in found if isinstance(one, UnknownPrice)]
    assert [one.model for one in unpriced] == ["brand-new-model"]
    assert len(unpriced) == right["unpriced_requests"]


def hit_rate(usage: Usage) -> Decimal | None:
    return None if usage.cache_read_tokens is None else Decimal(usage.cache_read_tokens) / usage.input_tokens


def test_a26_a_missing_read_is_no_miss() -> None:
    rows, right, wrong = vector("A26")
    assert [hit_rate(usage_of(row)[0]) for row in rows] == right["hit_rate"] != wrong["hit_rate"]


def test_a27_hit_rate_is_of_all_input() -> None:
    (row,), right, wrong = vector("A27")
    assert hit_rate(usage_of(row)[0]) == right["hit_rate"] != wrong["hit_rate"]


def test_a29_failed_attempts_cost_nothing(book: PriceBook) -> None:
    rows, right, wrong = vector("A29")
    calls = [call_of({"model": "claude-sonnet-4-5"} | row, status=row["status"]) for row in rows]
    billed = [found for found in costs_of(book, calls) if found is not None]
    assert len(calls) == right["attempts"]
    assert len(billed) == right["requests_billed"] != wrong["requests_billed"]


def test_a30_a_usage_key_without_a_price_is_said(tmp_path: Path) -> None:
    (row,), _, wrong = vector("A30")
    card = tmp_path / "card.toml"
    card.write_text(
        'schema = 1\n[[price]]\nprovider = "vectors"\nmodels = ["m"]\ninput = 1\noutput = 1\nsource = "card"\n'
        "checked = 2026-11-29\n"
    )
    usage, _ = usage_of(row)
    assert usage.cache_read_tokens == 900
    call = call_of({"model": "m", "usage": row["usage_details"]})
    found = cost_of(call, PriceBook(card).rates("m", "vectors", NOON))
    assert found is not None
    cost_of_cached = found.total - Decimal(usage.uncached_input_tokens) / 1_000_000
    assert cost_of_cached == Decimal("0.0009") != wrong["cost_of_cached"]
    assert found.notes[0] == "no read price is listed: reads cost what input costs"


def test_every_vector_is_answered() -> None:
    source = Path(__file__).read_text()
    assert all(f'"{name}"' in source for name in VECTORS)
    assert len(VECTORS) == 30
