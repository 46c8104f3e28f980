"""Prices of 119 models against a second source, LiteLLM's table of November 2026; each difference is decided here."""

import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from hitledger.prices import PriceBook, Rates

FIXTURE = Path(__file__).parent.parent / "fixtures" / "prices" / "litellm-1.110.2.json"
OTHER = json.loads(FIXTURE.read_text(), parse_float=Decimal)
AT = datetime(2026, 11, 27, 2, tzinfo=UTC)  # a Friday in DeepSeek's peak hours: LiteLLM lists the peak price
LENGTHS = (1_000, 100_001, 200_001, 272_001)
PROVIDERS = {"gemini": "google", "bedrock_converse": "bedrock"}
CLASSES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "read": "cache_read_input_token_cost",
    "write": "cache_creation_input_token_cost",
    "write 1h": "cache_creation_input_token_cost_above_1hr",
    "write 12h": "cache_creation_input_token_cost_above_12hr",
}

# Models whose prices differ, and why ours stand.
DECIDED = {
    "bedrock, no region": (
        # AWS's price list has the regional price (+10 %) for ids without a region; LiteLLM lists the global one.
        "anthropic.claude-haiku-4-5-20251001-v1:0",
        "anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic.claude-opus-4-6-v1",
        "anthropic.claude-opus-4-7",
    ),
    "history": (
        # Prompts above 200,000 tokens were sold until 2026-04-30 at twice the price; LiteLLM has no dates.
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
    ),
    "retired alias": (
        # Names of DeepSeek V4 Flash from 2026-04-24 until they were retired; LiteLLM keeps the V3.2 price.
        "deepseek-chat",
        "deepseek-reasoner",
        "deepseek/deepseek-chat",
        "deepseek/deepseek-reasoner",
    ),
    "writes not billed": (
        # LiteLLM lists 0 for writes; these providers report none, and their input price covers them.
        "deepseek-flash",
        "deepseek-v4-flash",
        "deepseek-v4-flash-vision-exp",
        "deepseek-v4-pro",
        "zai/glm-5",
        "zai/glm-5.1",
        "zai/glm-5.3",
        "zai/glm-5.3-flash",
    ),
    "12h writes of long prompts": (
        # LiteLLM has no such price for this one model; the other eleven have 2.5 x input, as here.
        "gpt-5.6-cyber",
    ),
    "open": (
        # No name of DeepSeek's own API; and Mistral names that moved to newer models on days not known to us.
        "deepseek/deepseek-v3.2",
        "mistral/magistral-medium-latest",
        "mistral/magistral-small-latest",
    ),
}


def listed(name: str, key: str, length: int) -> Decimal | None:
    """LiteLLM's price at that prompt length."""
    entry = OTHER[name]
    steps = {
        int(k.removeprefix(f"{key}_above_").removesuffix("k_tokens")) * 1000: v
        for k, v in entry.items()
        if k.startswith(f"{key}_above_") and k.endswith("k_tokens") and "hr" not in k[len(key) :]
    }
    passed = [step for step in steps if length > step]
    value = steps[max(passed)] if passed else entry.get(key)
    return None if value is None else Decimal(value)


def ours(name: str, length: int) -> Rates:
    provider = OTHER[name]["litellm_provider"]
    return PriceBook().rates(name.removeprefix(f"{provider}/"), PROVIDERS.get(provider, provider), AT, "", length)


def rate_of(rates: Rates, kind: str) -> Decimal | None:
    if kind.startswith("write"):
        write = rates.write(kind.removeprefix("write").strip())
        return write.rate if write else None
    return {"input": rates.input, "output": rates.output, "read": rates.cache_read}[kind]


def differences(name: str) -> list[tuple[str, int]]:
    found = []
    for length in LENGTHS:
        rates = ours(name, length)
        for kind, key in CLASSES.items():
            other, mine = listed(name, key, length), rate_of(rates, kind)
            if other is not None and (mine is None or abs(mine - other) > Decimal("1e-12")):
                found.append((kind, length))
    return found


def test_prices_agree_but_for_the_decided_models() -> None:
    decided = {name for names in DECIDED.values() for name in names}
    differing = {name for name in OTHER if differences(name)}
    assert differing == decided
    assert len(OTHER) - len(differing) >= 90


def test_many_providers_are_compared() -> None:
    assert Counter(entry["litellm_provider"] for entry in OTHER.values()) >= Counter(
        anthropic=19, openai=30, gemini=10, bedrock_converse=10, deepseek=5, xai=5, mistral=5, moonshot=5
    )


@pytest.mark.parametrize("name", DECIDED["bedrock, no region"])
def test_bedrock_without_a_region_is_ten_percent_dearer(name: str) -> None:
    assert ours(name, 1_000).input == listed(name, "input_cost_per_token", 1_000) * Decimal("1.1")  # type: ignore[operator]


def test_off_peak_is_half_of_what_litellm_lists() -> None:
    rates = PriceBook().rates("deepseek-v4-pro", "deepseek", AT.replace(hour=12))
    assert rates.input * 2 == listed("deepseek-v4-pro", "input_cost_per_token", 1_000)


@pytest.mark.parametrize("tier", ["batches", "flex", "priority"])
def test_tier_prices_agree(tier: str) -> None:
    compared = Counter[bool]()
    for name, entry in OTHER.items():
        other = entry.get(f"input_cost_per_token_{tier}")
        provider = entry["litellm_provider"]
        if other is None or provider not in ("anthropic", "openai"):
            continue
        rates = PriceBook().rates(name, provider, AT, {"batches": "batch"}.get(tier, tier))
        compared[abs(rates.input - other) < Decimal("1e-12")] += 1
    assert compared[True] >= 10
    assert not compared[False]
