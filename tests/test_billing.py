"""Costs of calls and of breaks, worked out by hand in USD."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from call_builders import audited
from hitledger.billing import (
    Cost,
    CostSource,
    computed_cost,
    cost_of,
    cost_of_break,
    costs_of,
    rates_of,
)
from hitledger.lifetimes import seconds_of
from hitledger.money import break_cost
from hitledger.prices import PriceBook, Rates, UnknownPrice
from hitledger.segments import Api, Layout
from hitledger.types import CacheWrite, Call, Certainty, Evidence, Place, Usage, prompt_of

AT = datetime(2026, 11, 27, 12, tzinfo=UTC)
BOOK = PriceBook()
# claude-opus-5: input 5, read 0.5, 5m write 6.25, 1h write 10, output 25 per million
MIXED = Usage(1_000, 50_000, (CacheWrite("5m", 4_000), CacheWrite("1h", 2_000)), 300)


def call(usage: Usage | None = MIXED, **fields: Any) -> Call:
    base = Call("c", "s", "main", Place("f", 1), "anthropic", "claude-opus-5", Evidence.EXACT, prompt_of(()))
    return replace(base, started_at=AT, usage=usage, **fields)


def rates(one: Call) -> Rates:
    found = rates_of(BOOK, one, one.usage.input_tokens if one.usage else 0)
    assert isinstance(found, Rates)
    return found


def test_classes_are_priced_apart() -> None:
    cost = cost_of(call(), rates(call()))
    # 1,000 x 5 + 50,000 x 0.50 + (4,000 x 6.25 + 2,000 x 10) + 300 x 25
    assert cost == Cost(Decimal("0.005") + Decimal("0.025") + Decimal("0.045") + Decimal("0.0075"), CostSource.USAGE)


def test_order_of_truth() -> None:
    expected = Usage(10_000, 0, (), 0)
    logged = cost_of(call(logged_cost=Decimal("0.5")), rates(call()), expected)
    by_usage = cost_of(call(), rates(call()), expected)
    by_rule = cost_of(call(None), rates(call()), expected)
    found = [(cost.total, cost.source) for cost in (logged, by_usage, by_rule) if cost]
    assert found == [
        (Decimal("0.5"), "logged"),
        (Decimal("0.0825"), "usage x price"),
        (Decimal("0.05"), "expected x price"),
    ]


def test_a_logged_cost_that_leaves_something_out_is_not_taken() -> None:
    """Roo's cost under the anthropic protocol is written before the answer is there."""
    short = call(logged_cost=Decimal("0.07"), notes=("logged_cost_omits_output",))
    found = cost_of(short, rates(short))
    assert found is not None
    assert (found.total, found.source) == (Decimal("0.0825"), "usage x price")
    assert costs_of(BOOK, [short]) == (found,)
    with pytest.raises(UnknownPrice):
        cost_of(short, None)


def test_usage_times_price_beside_a_logged_cost() -> None:
    logged = call(logged_cost=Decimal("0.5"))
    assert computed_cost(logged, rates(logged)) == Decimal("0.0825")
    assert computed_cost(logged, None) is None
    assert computed_cost(replace(logged, usage=None), rates(logged)) is None


def test_what_was_refused_has_no_cost() -> None:
    assert cost_of(call(None, status=400), rates(call()), Usage(10, 0, (), 0)) is None
    assert cost_of(call(None), rates(call())) is None


def test_unknown_prices_are_raised_or_listed_never_zero() -> None:
    unknown = call(model="brand-new-model")
    with pytest.raises(UnknownPrice, match="no rates"):
        cost_of(unknown, None)
    found = costs_of(BOOK, [unknown, call(), replace(call(), provider=""), replace(call(), started_at=None)])
    assert [type(one) for one in found] == [UnknownPrice, Cost, UnknownPrice, UnknownPrice]
    long_write = call(replace(MIXED, cache_writes=(CacheWrite("24h", 1),)))
    (refused,) = costs_of(BOOK, [long_write])
    assert isinstance(refused, UnknownPrice)
    assert "lifetime '24h'" in refused.reason


def test_generated_tokens_without_a_price(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(
        'schema = 1\n[[price]]\nprovider = "x"\nmodels = ["m"]\ninput = 1\nsource = "s"\nchecked = 2026-01-01\n'
    )
    book = PriceBook(path)
    one = call(Usage(10, None, None, 1), provider="x", model="m")
    (found,) = costs_of(
        book,
        [
            one,
        ],
    )
    assert isinstance(found, UnknownPrice)
    (without,) = costs_of(book, [replace(one, usage=Usage(10, None, None, 0))])
    assert isinstance(without, Cost)
    assert without.total == Decimal("0.00001")


def test_output_that_is_not_reported_makes_a_lower_bound() -> None:
    cost = cost_of(call(Usage(1_000, None, None, None)), rates(call()))
    assert cost is not None
    assert (cost.total, cost.notes) == (Decimal("0.005"), ("output not reported: the cost is a lower bound",))


def test_the_served_model_is_priced_where_it_has_a_price() -> None:
    served = call(model="our-deployment", served_model="gpt-5-2025-08-07", provider="azure")
    assert rates(served).input == Decimal("0.00000125")
    internal = call(served_model="internal-build-7")
    assert rates(internal).model == "claude-opus-5"
    assert isinstance(rates_of(BOOK, call(model="a", served_model="b"), 0), UnknownPrice)


def test_the_requests_only_mark_tells_the_lifetime_of_writes() -> None:
    def marked(*ttls: str) -> Call:
        blocks = [{"type": "text", "text": t, "cache_control": {"type": "ephemeral", "ttl": t}} for t in ttls]
        body = {"messages": [{"role": "user", "content": blocks}]}
        unsplit = Usage(0, 0, (CacheWrite("", 1_000_000),), 0)
        return call(unsplit, prompt=Layout().prompt(body, Api.MESSAGES))

    costs = [cost_of(one, rates(one)) for one in (marked("1h"), marked("5m"), marked("1h", "5m"), marked())]
    assert [(cost.total, len(cost.notes)) for cost in costs if cost] == [
        (Decimal(10), 0),
        (Decimal("6.25"), 0),
        (Decimal("6.25"), 1),
        (Decimal("6.25"), 1),
    ]


@pytest.mark.parametrize(
    ("rebilled", "usd"),
    [
        (0, "0"),
        (2_000, "0.019"),  # the 1h writes: 2,000 x (10 - 0.5)
        (5_000, "0.03625"),  # and 3,000 of the 5m ones: x (6.25 - 0.5)
        (6_000, "0.042"),
        (6_500, "0.04425"),  # and 500 of the uncached input: x (5 - 0.5)
    ],
)
def test_cost_of_a_break(rebilled: int, usd: str) -> None:
    assert cost_of_break(call(), rebilled, rates(call())) == Decimal(usd)


def test_cost_of_a_break_where_writes_are_free() -> None:
    chat = call(Usage(9_000, 1_000, None, 5), provider="openai", model="gpt-5")
    assert cost_of_break(chat, 8_000, rates(chat)) == Decimal("0.009")  # 8,000 x (1.25 - 0.125)


def test_cost_of_a_break_at_the_tier_and_length_of_its_own_call() -> None:
    long = call(Usage(250_000, 0, (), 5), model="claude-sonnet-4-5")
    assert cost_of_break(long, 100_000, rates(long)) == Decimal("0.54")  # 100,000 x (6 - 0.6)
    batch = call(tier="batch")
    assert cost_of_break(batch, 6_500, rates(batch)) == Decimal("0.022125")


@given(st.integers(0, 7_000), st.integers(0, 7_000))
def test_cost_of_a_break_adds_up(first: int, more: int) -> None:
    one = call()
    whole, part = (cost_of_break(one, tokens, rates(one)) for tokens in (first + more, first))
    assert part <= whole <= (first + more) * Decimal("0.0000095")


@given(
    st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)
)
def test_a_cost_is_the_sum_of_its_classes(uncached: int, read: int, short: int, long: int, output: int) -> None:
    usage = Usage(uncached, read, (CacheWrite("5m", short), CacheWrite("1h", long)), output)
    cost = cost_of(call(usage), rates(call()))
    assert cost is not None
    expected = uncached * 5 + read * Decimal("0.5") + short * Decimal("6.25") + long * 10 + output * 25
    assert cost.total == expected / 1_000_000


def test_lifetimes_in_seconds() -> None:
    names = ("5m", "30m", "1h", "12h", "90s", "1d", "", "soon", "h", "-5m", "5 m", "٥m", "9" * 5000 + "h")
    assert [seconds_of(name) for name in names] == [300, 1800, 3600, 43200, 90, 86400, 0, 0, 0, 0, 0, 0, 0]


def test_what_a_price_takes_for_granted_is_said_and_makes_the_cost_an_estimate() -> None:
    known = call(Usage(1_000, 0, (CacheWrite("5m", 1_000),), 10), id="known")
    open_end = call(Usage(1_000, 0, (CacheWrite("", 1_000),), 10), id="open", session="other")
    found = audited(known, open_end)
    assert [one.certainty.get("cost") for one in found.calls] == [None, Certainty.ESTIMATED]
    assert [one.cost for one in found.calls] == [Decimal("0.0115")] * 2  # 1,000 x 5 + 1,000 x 6.25 + 10 x 25
    costs = [break_cost(one, 500, rates(one)) for one in (known, open_end)]
    assert [(cost.total, cost.exact) for cost in costs] == [(Decimal("0.002875"), True), (Decimal("0.002875"), False)]
    (price,) = found.prices
    assert price.notes == ("write lifetime not logged: priced as the default one",)
