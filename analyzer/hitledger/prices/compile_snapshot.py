"""Writes `snapshot.json` from the installed genai-prices: `python -m hitledger.prices.compile_snapshot DATE`.

The audit reads the compiled table instead of importing genai-prices, because that import (pydantic, an HTTP client
and 14,000 lines of objects) costs more than reading a log of many megabytes, and because a table that ships with the
program gives the same bytes whatever else is installed. Only token prices are kept; see README.md for the licence.
"""

import json
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

RATES = {
    "input_mtok": "input",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_mtok": "output",
}
CLAUSES = {
    "ClauseEquals": ("equals", "equals"),
    "ClauseStartsWith": ("starts", "starts_with"),
    "ClauseEndsWith": ("ends", "ends_with"),
    "ClauseContains": ("contains", "contains"),
    "ClauseRegex": ("regex", "regex"),
    "ClauseOr": ("any", "or_"),
    "ClauseAnd": ("all", "and_"),
}
TIER_KEYS = ("service_tier", "processing", "speed")


def compile_snapshot(compiled: str) -> dict[str, Any]:
    """The whole price list as JSON values; `compiled` is the day of compilation."""
    from genai_prices.data import providers  # only here: the audit itself never imports it

    table = {
        provider.id: {
            "fallback": list(provider.fallback_model_providers or ()),
            "models": [row for row in map(_model, provider.models) if row is not None],
        }
        for provider in providers
    }
    return {"source": f"genai-prices {version('genai-prices')}", "compiled": compiled, "providers": table}


def _model(model: Any) -> dict[str, Any] | None:
    conditional = model.prices if isinstance(model.prices, list) else [_Always(model.prices)]
    prices = [_price(entry, entry.prices) for entry in conditional]
    if model.id.endswith(":free"):
        prices = [{"rates": {"input": "0", "output": "0"}}]
    if not any("input" in price["rates"] for price in prices):
        return None
    row = {"id": model.id, "match": _clause(model.match), "prices": prices}
    tiers = [
        {"tier": tier, **_price(variant, variant.prices)}
        for variant in model.price_variants or ()
        if (tier := next((variant.when[key] for key in TIER_KEYS if key in variant.when), "default")) != "default"
    ]
    return row | ({"tiers": tiers} if tiers else {})


class _Always:
    """A price without a condition, in the shape of one with."""

    constraint = None

    def __init__(self, prices: Any) -> None:
        self.prices = prices


def _price(entry: Any, prices: Any) -> dict[str, Any]:
    row: dict[str, Any] = {}
    constraint = entry.constraint
    if hasattr(constraint, "start_date"):
        row["from"] = constraint.start_date.isoformat()
    elif constraint is not None:
        row["hours"] = [constraint.start_time.strftime("%H:%M"), constraint.end_time.strftime("%H:%M")]
    kept = {RATES[key]: value for key, value in prices.__dict__.items() if key in RATES and value is not None}
    return row | {"rates": {name: _rate(value) for name, value in kept.items()}}


def _rate(value: Any) -> Any:
    if hasattr(value, "tiers"):
        return [str(value.base), *([tier.start, str(tier.price)] for tier in value.tiers)]
    return str(value)


def _clause(clause: Any) -> list[Any]:
    name, field = CLAUSES[type(clause).__name__]
    value = getattr(clause, field)
    return [name, *map(_clause, value)] if isinstance(value, list) else [name, value]


def encode(table: dict[str, Any]) -> str:
    """One line a model, so that a change of the list reads as a change of lines."""
    lines = [f'{{"source":{json.dumps(table["source"])},"compiled":{json.dumps(table["compiled"])},"providers":{{']
    for number, (provider, entry) in enumerate(table["providers"].items()):
        lines.append(
            f'{"," if number else ""}{json.dumps(provider)}:{{"fallback":{json.dumps(entry["fallback"])},"models":['
        )
        rows = [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in entry["models"]]
        lines += [row + ("," if place + 1 < len(rows) else "") for place, row in enumerate(rows)]
        lines.append("]}")
    return "\n".join([*lines, "}}"]) + "\n"


if __name__ == "__main__":
    Path(str(files("hitledger") / "prices" / "snapshot.json")).write_text(encode(compile_snapshot(sys.argv[1])))
