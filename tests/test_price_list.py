"""The compiled price list against genai-prices itself: same models found, same prices at every time and length."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files

import pytest
from genai_prices.data import providers
from genai_prices.types import TieredPrices

from hitledger.prices.compile_snapshot import RATES, compile_snapshot, encode
from hitledger.prices.names import LISTED_AS
from hitledger.prices.snapshot import ListedModel, bundled_list

BY_ID = {provider.id: provider for provider in providers}
OURS = {listed: name for name, listed in LISTED_AS.items()}
TIMES = [
    datetime(2024, 6, 1, 2, tzinfo=UTC),
    datetime(2025, 10, 1, 12, tzinfo=UTC),
    datetime(2026, 3, 13, 9, tzinfo=UTC),
    datetime(2026, 8, 21, 23, tzinfo=UTC),
    datetime(2026, 10, 14, 0, tzinfo=UTC),
    datetime(2027, 1, 1, 16, 30, tzinfo=UTC),
]
LENGTHS = [0, 100_000, 100_001, 200_001, 272_001, 600_000]
TIERS = {
    "batch": {"processing": "batch"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
    "fast": {"service_tier": "fast", "speed": "fast"},
}


def test_the_shipped_list_is_what_the_compiler_makes() -> None:
    shipped = (files("hitledger") / "prices" / "snapshot.json").read_text()
    if bundled_list().source.split(",")[0] != f"genai-prices {version('genai-prices')}":
        pytest.skip("another version of genai-prices is installed than the list was compiled from")
    assert shipped == encode(compile_snapshot(bundled_list().source.rpartition(" ")[2]))


def price_of(value: object, length: int) -> object:
    if isinstance(value, TieredPrices):
        return next((tier.price for tier in reversed(value.tiers) if length > tier.start), value.base)
    return value


def theirs(model: object, at: datetime, length: int, context: dict[str, str] | None) -> dict[str, object]:
    prices = model.get_prices(at, context).__dict__  # type: ignore[attr-defined]
    return {RATES[key]: price_of(value, length) for key, value in prices.items() if key in RATES and value is not None}


def listed_models() -> Iterator[tuple[object, ListedModel]]:
    for provider in providers:
        for model in provider.models:
            found = bundled_list().find(model.id, OURS.get(provider.id, provider.id))
            if found is not None and found.id == model.id and found.provider == provider.id:
                yield model, found


def test_prices_are_those_of_genai_prices() -> None:
    compared = 0
    for model, found in listed_models():
        if found.id.endswith(":free"):
            continue
        for at in TIMES:
            for length in LENGTHS:
                assert found.standard(at).at(length) == theirs(model, at, length, None), (found.id, at, length)
                compared += 1
    assert compared > 50_000


def test_tier_prices_are_those_of_genai_prices() -> None:
    compared = 0
    for model, found in listed_models():
        for tier, context in TIERS.items():
            for at in TIMES:
                begun = [price for price in found.tier(tier) if price.holds(at)]
                if not begun:
                    continue
                for length in LENGTHS:
                    mine = found.standard(at).at(length)
                    for price in reversed(begun):
                        mine |= price.at(length)
                    assert mine == theirs(model, at, length, context), (found.id, tier, at, length)
                    compared += 1
    assert compared > 1_500


@pytest.mark.parametrize("provider", ["anthropic", "openai", "aws", "google", "azure", "deepseek", "x-ai", "mistral"])
def test_names_find_the_model_that_genai_prices_finds(provider: str) -> None:
    compared = 0
    for model in BY_ID[provider].models:
        if "/" in model.id or "@" in model.id or model.id.endswith(":free"):
            continue
        expected = BY_ID[provider].find_model(model.id, all_providers=providers)
        found = bundled_list().find(model.id, OURS.get(provider, provider))
        if found is not None:
            assert expected is not None
            assert found.id == expected.id
            compared += 1
    assert compared


def test_the_audit_does_not_import_genai_prices() -> None:

    code = "import sys, hitledger.billing; print('genai_prices' in sys.modules, 'pydantic' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]
