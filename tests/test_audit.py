"""The audit as a whole: money, evidence, damage, the same bytes."""

import json
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from call_builders import audited, call, messages, usage
from hitledger.audit import audit, with_unique_ids
from hitledger.break_results import Shown
from hitledger.errors import HitledgerError, NothingToReadError
from hitledger.results import from_json, to_json
from hitledger.types import Certainty, Usage

FIXTURES = Path(__file__).parent.parent / "fixtures"
SESSION = str(FIXTURES / "claude-code" / "real-session")
LONG = "The clerk writes each arrival into the book, with the hour, the berth and the draught. " * 60


def test_same_input_same_bytes_and_back() -> None:
    first = to_json(audit([SESSION]))
    assert first == to_json(audit([SESSION]))
    assert to_json(from_json(first, "a.json")) == first


def test_money_is_written_as_decimal_strings_and_unknown_as_null() -> None:
    document = json.loads(
        to_json(audited(call(messages("a"), used=usage(1000, 0, 0)), call(messages("a"), 1, status=400)))
    )
    assert isinstance(document["calls"][0]["cost"], str)
    assert document["calls"][1]["cost"] is None
    assert document["calls"][1]["input_tokens"] is None


def test_another_version_of_the_file_is_refused() -> None:
    document = json.loads(to_json(audited(call(messages("a"), used=usage(10)))))
    document["schema_version"] = 99
    with pytest.raises(NothingToReadError, match="schema_version 99"):
        from_json(json.dumps(document).encode(), "old.json")
    with pytest.raises(NothingToReadError, match=r"x\.json: not an audit"):
        from_json(b'{"a": 1}', "x.json")


def test_a_count_that_no_log_can_have_is_refused() -> None:
    """It ended the tables of a report with a traceback."""
    document = json.loads(to_json(audited(call(messages("a"), used=usage(10)))))
    document["calls"][0]["input_tokens"] = 10**30
    with pytest.raises(NothingToReadError, match=r"calls\[0\]\.input_tokens"):
        from_json(json.dumps(document).encode(), "x.json")


@pytest.mark.parametrize("amount", ["NaN", "sNaN", "Infinity", "-Infinity", "1e999999"])
@pytest.mark.parametrize("field", ["cost", "computed_cost"])
def test_what_is_no_amount_of_money_is_refused(field: str, amount: str) -> None:
    """An audit can come from another machine; such a figure ended the reports with a traceback."""
    document = json.loads(to_json(audited(call(messages("a"), used=usage(10)))))
    document["calls"][0][field] = amount
    with pytest.raises(NothingToReadError, match=rf"x\.json: calls\[0\]\.{field}: .* is no amount of money"):
        from_json(json.dumps(document).encode(), "x.json")


def test_attribution_sums_to_ideal_less_reported() -> None:
    """20 is left out: its loss is held against generated tokens, which no usage reports as read."""
    seen = 0
    for row in audit([str(FIXTURES / "scenarios")]).calls:
        if row.attribution is None or row.cache_read_tokens is None or row.session.startswith("20-"):
            continue
        parts = msgspec.structs.astuple(row.attribution)
        assert row.ideal_cache_read_tokens is not None
        assert sum(parts) == max(0, row.ideal_cache_read_tokens - row.cache_read_tokens)
        seen += sum(parts) > 0
    assert seen > 25


def test_an_unknown_model_is_named_and_never_free() -> None:
    body = {**messages("a"), "model": "made-up-model-9"}
    result = audited(call(body, used=usage(1000)), call(messages("a"), 1, session="t", used=usage(1000, output=0)))
    assert result.calls[0].cost is None
    assert result.totals.calls_without_price == 1
    assert result.totals.cost == result.calls[1].cost == Decimal("0.005")
    errors = [row.error for row in result.prices if row.error]
    assert len(errors) == 1
    assert "made-up-model-9" in errors[0]


def test_strict_makes_an_unknown_price_an_error() -> None:
    body = {**messages("a"), "model": "made-up-model-9"}
    with pytest.raises(HitledgerError, match=r"test\.jsonl:1: no price for made-up-model-9"):
        audited(call(body, used=usage(1000)), strict=True)


def test_logged_cost_comes_first() -> None:
    (row,) = audited(call(messages("a"), used=usage(1000), logged_cost=Decimal("0.5"))).calls
    assert (row.cost, row.cost_source, row.logged_cost) == (Decimal("0.5"), "logged", Decimal("0.5"))


def test_without_usage_the_rule_is_priced_and_said_so() -> None:
    (row,) = audited(call(messages("a", system=LONG), used=None)).calls
    assert row.cost_source == "expected x price"
    assert row.input_tokens is None
    assert row.certainty["expected_cache_write_tokens"] is Certainty.ESTIMATED
    assert row.certainty["cost"] is Certainty.ESTIMATED


@pytest.mark.parametrize(
    ("used", "logged", "estimated"),
    [
        (usage(1000), None, False),
        (usage(1000, read=None), None, True),  # reads may be in it at the full rate
        (usage(1000, output=None), None, True),  # the answer is missing from it
        (Usage(1000, 0, (), 10, output_estimated=True), None, True),
        (usage(1000, read=None), Decimal("0.5"), False),  # the log says it, whatever else it leaves out
        (Usage(1000, 0, (), 10, output_estimated=True), Decimal("0.5"), False),
        (None, Decimal("0.5"), False),
    ],
)
def test_a_cost_is_exact_only_where_it_or_all_it_is_made_of_was_logged(
    used: Usage | None, logged: Decimal | None, estimated: bool
) -> None:
    (row,) = audited(call(messages("a", system=LONG), used=used, logged_cost=logged)).calls
    assert row.cost
    assert (row.certainty.get("cost") is Certainty.ESTIMATED) is estimated


def test_small_losses_are_counted_and_not_listed() -> None:
    one = call(messages("a", system=LONG), 0, used=usage(3, 0, 20_000))
    two = call(messages("a", "b", "c", system=LONG), 1, used=usage(3, 19_500, 600))
    result = audited(one, two)
    assert result.breaks == ()
    assert (result.totals.small_breaks, result.totals.small_lost_tokens) == (1, 500)


def test_sessions_and_causes_sum_to_the_totals() -> None:
    result = audit([str(FIXTURES / "scenarios")])
    assert sum(row.calls for row in result.sessions) == result.totals.calls == 90
    assert sum(row.rebilled_tokens for row in result.totals.by_cause) == result.totals.rebilled_tokens
    assert sum(row.breaks for row in result.totals.by_cause) == len(result.breaks) == 29
    assert sum((row.cost or Decimal(0) for row in result.sessions), Decimal(0)) == result.totals.cost


def test_breaks_come_worst_first() -> None:
    costs = [row.cost or Decimal(0) for row in audit([str(FIXTURES / "scenarios")]).breaks]
    assert costs == sorted(costs, reverse=True)


def test_windows_are_short_and_redacted() -> None:
    secret = "sk-ant-api03-" + "Ab3" * 30
    one = call(messages("a", system=LONG + f"key {secret}"), 0, used=usage(3, 0, 2000))
    two = call(messages("a", "b", "c", system=LONG + f"key {secret[:-1]}X"), 1, used=usage(3, 0, 2100))
    (found,) = audited(one, two).breaks
    assert found.before is not None
    assert found.after is not None
    assert "Ab3Ab3" not in found.before + found.after
    assert len(found.before) < 120
    (shown,) = audited(one, two, shown=Shown(text=True, secrets=True)).breaks
    assert "Ab3Ab3" in (shown.before or "")
    assert len(shown.before or "") > 120


def test_ids_that_come_twice_get_a_number() -> None:
    calls = [call(messages("a"), 0, id="r"), call(messages("b"), 1, id="r"), call(messages("c"), 2, id="q")]
    assert [row.id for row in with_unique_ids(calls)] == ["r", "r#2", "q"]


def test_the_rule_of_the_day_is_named() -> None:
    result = audited(call(messages("a"), used=usage(1000)))
    (rule,) = result.rules
    assert (rule.provider, rule.calls) == ("anthropic", 1)
    assert rule.source.startswith("https://")
