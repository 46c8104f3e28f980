"""The price book: every known gap of the list, names of platforms, tiers, and what it refuses to price.

Expected rates are worked out by hand in USD per million tokens from the providers' published prices.
"""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from hitledger.prices import PriceBook, Rates, UnknownPrice
from price_figures import NOON, at, million


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return PriceBook()


# 1. lifetimes that the list does not price


def test_twelve_hour_writes(book: PriceBook) -> None:
    rates = book.rates("gpt-6.1-terra", "openai", NOON)
    assert million(rates, ["30m", "12h"]) == ["1", "0.05", "5", "1.25", "2.5"]
    long_fast = book.rates("gpt-6-astra", "openai", NOON, "priority", 272_001)
    assert million(long_fast, ["12h"]) == ["40", "4", "150", "100"]
    assert "third-party" in rates.write("12h").note  # type: ignore[union-attr]
    assert rates.notes == ()


def test_one_hour_writes_where_the_list_forgot_them(book: PriceBook) -> None:
    assert million(book.rates("claude-opus-4-6", "vertex", at("2026-02-01")), ["5m", "1h"])[3:] == ["6.25", "10"]
    assert million(book.rates("kimi-k3", "moonshot", NOON), ["5m", "1h"]) == ["3", "0.3", "15", "3", "6"]
    bedrock = book.rates("global.anthropic.claude-sonnet-4-20250514-v1:0", "bedrock", NOON)
    assert million(bedrock, ["5m", "1h"]) == ["3", "0.3", "15", "3.75", "6"]


def test_a_lifetime_without_a_price_has_none(book: PriceBook) -> None:
    assert book.rates("gpt-5", "openai", NOON).write("12h") is None
    assert book.rates("claude-opus-5", "anthropic", NOON).write("24h") is None


# 2. history


def test_sonnet_5_5_read_price_before_its_cut(book: PriceBook) -> None:
    assert million(book.rates("claude-sonnet-5-5", "anthropic", at("2026-10-06T23:59:59"))) == ["2", "0.2", "10"]
    assert million(book.rates("claude-sonnet-5-5", "anthropic", at("2026-10-07"))) == ["2", "0.1", "10"]


def test_prices_change_on_their_day(book: PriceBook) -> None:
    assert million(book.rates("gpt-5.6-sol", "openai", at("2026-08-20T23:59"))) == ["5", "0.5", "30"]
    assert million(book.rates("gpt-5.6-sol", "openai", at("2026-08-21"))) == ["4", "0.4", "20"]
    assert million(book.rates("gemini-4-argon", "google", at("2026-11-30"))) == ["2", "0.1", "10"]
    assert million(book.rates("gemini-4-argon", "google", at("2026-12-01"))) == ["4", "0.2", "20"]
    assert book.rates("gpt-5.6-sol", "openai", at("2026-08-21")).valid_from == date(2026, 8, 21)


# 3. hours of the day

FLAT, LOW, HIGH = ["0.435", "0.003625", "0.87"], ["0.66", "0.022", "1.98"], ["1.32", "0.044", "3.96"]


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("2026-05-01T02:00", FLAT),  # a peak hour before there was a peak
        ("2026-08-16T02:00", FLAT),
        ("2026-08-17T02:00", HIGH),  # Monday
        ("2026-08-22T02:00", HIGH),  # Saturday, when peaks were daily
        ("2026-08-29T02:00", LOW),  # Saturday, since weekends are off-peak
        ("2026-10-09T00:59:59", LOW),
        ("2026-10-09T01:00", HIGH),
        ("2026-10-09T03:59:59", HIGH),
        ("2026-10-09T04:00", LOW),
        ("2026-10-09T06:00", HIGH),
        ("2026-10-09T10:00", LOW),
        ("2026-10-02T02:00", LOW),  # Friday of National Day
        ("2026-09-25T02:00", LOW),  # Mid-Autumn
        ("2026-10-08T02:00", HIGH),  # Thursday after the holidays
    ],
)
def test_deepseek_peak_hours(book: PriceBook, when: str, expected: list[str]) -> None:
    assert million(book.rates("deepseek-v4-pro", "deepseek", at(when))) == expected


def test_deepseek_peak_hours_in_another_time_zone(book: PriceBook) -> None:
    beijing = datetime.fromisoformat("2026-10-09T09:00+08:00")
    assert million(book.rates("deepseek-v4-pro", "deepseek", beijing)) == HIGH


def test_peak_of_the_flash_model_before_its_renewal(book: PriceBook) -> None:
    assert million(book.rates("deepseek-v4-flash", "deepseek", at("2026-08-20T02:00"))) == ["0.44", "0.014", "1.32"]
    assert million(book.rates("deepseek-v4-flash", "deepseek", at("2026-10-09T02:00"))) == ["0.3", "0.006", "1.2"]


def test_end_of_the_holiday_list_is_said(book: PriceBook) -> None:
    assert book.rates("deepseek-v4-pro", "deepseek", at("2027-01-04T02:00")).notes == (
        "holidays are known to 2026-12-31 only",
    )


def test_deepseek_chat_followed_its_models(book: PriceBook) -> None:
    days = ["2025-09-10T12:00", "2025-12-01", "2026-06-01"]
    found = [million(book.rates("deepseek-chat", "deepseek", at(day)))[0] for day in days]
    assert found == ["0.56", "0.28", "0.14"]


# 4, 5. tiers


def test_geo_speed_and_batch_stack(book: PriceBook) -> None:
    def rates(tier: str) -> list[str]:
        return million(book.rates("claude-opus-5-5", "anthropic", NOON, tier), ["5m", "1h"])

    assert rates("") == ["4", "0.2", "20", "5", "8"]
    assert rates("us") == ["4.4", "0.22", "22", "5.5", "8.8"]
    assert rates("fast") == ["8", "0.4", "40", "10", "16"]
    assert rates("fast+us") == rates("us+fast") == ["8.8", "0.44", "44", "11", "17.6"]
    assert rates("batch+us") == ["2.2", "0.11", "11", "2.75", "4.4"]


def test_batch_before_the_list_knows_it(book: PriceBook) -> None:
    early = book.rates("claude-opus-4-5", "anthropic", at("2026-01-05"), "batch")
    assert million(early, ["5m", "1h"]) == ["2.5", "0.25", "12.5", "3.125", "5"]
    assert early.notes == ("tier 'batch' is listed from 2026-10-14; its ratio of then is used",)
    sol = book.rates("gpt-5.6-sol", "openai", at("2026-08-01"), "priority")  # twice the price of that day
    assert million(sol) == ["10", "1", "60"]
    retired = book.rates("claude-3-opus-20240229", "anthropic", at("2025-01-05"), "batch")
    assert million(retired) == ["7.5", "0.75", "37.5"]


def test_a_tier_without_a_price_is_unknown(book: PriceBook) -> None:
    with pytest.raises(UnknownPrice, match="tiers batch and fast together"):
        book.rates("claude-opus-5-5", "anthropic", NOON, "batch+fast")
    with pytest.raises(UnknownPrice, match="no price for the tier 'turbo'"):
        book.rates("claude-opus-5-5", "anthropic", NOON, "turbo")
    with pytest.raises(UnknownPrice, match="no price for the tier 'us'"):
        book.rates("claude-haiku-4-5", "anthropic", NOON, "us")  # since Claude 4.6 only


# 6. storage, models that the list lacks


def test_storage_of_explicit_caches(book: PriceBook) -> None:
    assert book.storage("gemini-3.8-flash", "google", NOON) * 1_000_000 == Decimal("0.50")
    assert book.storage("models/gemini-2.5-pro", "vertex", NOON) * 1_000_000 == Decimal("4.50")
    with pytest.raises(UnknownPrice, match="no storage price"):
        book.storage("gemini-4-argon", "google", NOON)


def test_models_that_the_list_lacks(book: PriceBook) -> None:
    assert million(book.rates("gpt-6.2-sol", "openai", NOON), ["30m", "12h"]) == ["2", "0.1", "10", "2.5", "5"]
    assert million(book.rates("gemini-4-neon", "google", NOON)) == ["3", "0.15", "15"]
    assert million(book.rates("qwen3-coder-plus", "alibaba", NOON, "", 32_000)) == ["1", "0.1", "5"]
    assert million(book.rates("qwen3-coder-plus", "alibaba", NOON, "", 32_001)) == ["1.8", "0.18", "9"]
    assert book.rates("gpt-6.2-sol", "openai", NOON).notes[0].startswith("third-party")


# 7. names


@pytest.mark.parametrize(
    ("model", "provider", "rate"),
    [
        ("claude-opus-5-5[1m]", "anthropic", "4"),
        ("claude-opus-4.5", "anthropic", "5"),
        ("anthropic/claude-opus-4-5", "anthropic", "5"),
        ("claude-opus-4-5@20251101", "vertex", "5"),
        ("publishers/anthropic/models/claude-opus-4-5", "vertex", "5"),
        ("models/gemini-2.5-flash", "google", "0.3"),
        ("global.anthropic.claude-opus-5-5", "bedrock", "4"),
        ("us.anthropic.claude-opus-5-5", "bedrock", "4.4"),
        ("anthropic.claude-opus-5-5", "bedrock", "4.4"),
        ("bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", "3.3"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "bedrock",
            "3.3",
        ),
        ("arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-opus-5-5", "bedrock", "4.4"),
        ("gpt-5-2025-08-07", "azure", "1.25"),
        ("gpt-35-turbo", "azure", "0.5"),
        ("gpt-5.2-20251211", "openai", "1.75"),
        ("anthropic/claude-opus-4.5", "openrouter", "5"),
        ("grok-4", "xai", "3"),
    ],
)
def test_names_of_platforms(book: PriceBook, model: str, provider: str, rate: str) -> None:
    assert million(book.rates(model, provider, NOON))[0] == rate


def test_a_tier_in_the_name_counts_once(book: PriceBook) -> None:
    expected = ["10", "1", "50"]
    assert million(book.rates("anthropic/claude-opus-4.8-fast", "anthropic", NOON)) == expected
    assert million(book.rates("claude-opus-4-8-fast", "anthropic", NOON, "fast")) == expected
    assert million(book.rates("claude-opus-4-8", "anthropic", NOON, "fast")) == expected


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc123", "bedrock"),
        ("our-production-model", "azure"),
        ("claude-opus-99", "anthropic"),
        ("claude-opus-5-5", "some-gateway"),
        ("claude-opus-5-5", ""),
        ("", "anthropic"),
        ("<synthetic>", "anthropic"),
    ],
)
def test_unknown_models_have_no_price(book: PriceBook, model: str, provider: str) -> None:
    with pytest.raises(UnknownPrice) as raised:
        book.rates(model, provider, NOON)
    assert raised.value.model == model
    assert (model or "without a model") in str(raised.value)


def test_an_unknown_time_has_no_price(book: PriceBook) -> None:
    with pytest.raises(UnknownPrice, match="time of the call is not known"):
        book.rates("claude-opus-5-5", "anthropic", None)


# cliffs


@pytest.mark.parametrize(
    ("model", "provider", "limit", "below", "above"),
    [
        ("claude-sonnet-4-5", "anthropic", 200_000, ["3", "0.3", "15"], ["6", "0.6", "22.5"]),
        ("claude-haiku-5-5", "anthropic", 100_000, ["0.1", "0.01", "0.5"], ["0.5", "0.05", "2.5"]),
        ("gpt-6.1-sol", "openai", 272_000, ["2", "0.1", "10"], ["4", "0.2", "15"]),
    ],
)
def test_a_cliff_prices_the_whole_call(
    book: PriceBook, model: str, provider: str, limit: int, below: list[str], above: list[str]
) -> None:
    at_limit, over = (book.rates(model, provider, NOON, "", tokens) for tokens in (limit, limit + 1))
    assert (million(at_limit), at_limit.above) == (below, 0)
    assert (million(over), over.above) == (above, limit)


def test_writes_and_reads_without_a_price_of_their_own(book: PriceBook) -> None:
    gpt5 = book.rates("gpt-5", "openai", NOON)
    assert million(gpt5, [""]) == ["1.25", "0.125", "10", "1.25"]  # writes are not billed apart: input
    pro = book.rates("gpt-5-pro", "openai", NOON)
    assert million(pro) == ["15", "15", "120"]
    assert pro.notes == ("no read price is listed: reads cost what input costs",)


def test_each_combination_is_worked_out_once(book: PriceBook) -> None:
    times = [NOON + timedelta(hours=n) for n in range(300)]
    found = [book.find(model, "anthropic", at, "", 7) for at in times for model in ("claude-opus-5", "nothing")]
    assert [isinstance(rates, Rates) for rates in found] == [True, False] * 300
    assert len({id(rates) for rates in found}) == 2
