"""LiteLLM's price table (`model_prices_and_context_window.json`) as a prices file: `--prices FILE.json`.

Its prices are per token and undated, so the rows hold at any time.
"""

import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from hitledger.prices.rowfile import PriceFileError
from hitledger.prices.rows import PriceFile, PriceRow, Scope
from hitledger.tomlfile import text_of

MAX_BYTES = 50_000_000
PROVIDERS = {
    "azure_ai": "azure",
    "bedrock_converse": "bedrock",
    "dashscope": "alibaba",
    "fireworks_ai": "fireworks",
    "gemini": "google",
    "together_ai": "together",
}
CLASSES = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
    "cache_creation_input_token_cost": "cache_write:",
    "cache_creation_input_token_cost_above_1hr": "cache_write:1h",
    "cache_creation_input_token_cost_above_12hr": "cache_write:12h",
}
TIERS = {"": "", "_batches": "batch", "_flex": "flex", "_priority": "priority"}
_KEY = re.compile(rf"^({'|'.join(sorted(CLASSES, key=len, reverse=True))})(?:_above_(\d+)k_tokens)?(_[a-z]+)?$")


def is_litellm(path: Path) -> bool:
    """Whether a prices file is to be read as LiteLLM's."""
    return path.suffix == ".json"


def read_litellm(path: Path) -> PriceFile:
    """Rows of a LiteLLM table, whole or reduced. Raises PriceFileError."""
    try:
        text = text_of(path, MAX_BYTES)
    except ValueError as error:
        raise PriceFileError(f"{path}: {error}") from error
    try:
        table = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise PriceFileError(f"{path}: not JSON: {error}") from error
    if not isinstance(table, dict):
        raise PriceFileError(f"{path}: not an object with one entry a model")
    rows = [row for name, entry in table.items() if name != "sample_spec" for row in _rows(path, name, entry)]
    return PriceFile(str(path), prices=tuple(rows))


def _rows(path: Path, name: str, entry: Any) -> list[PriceRow]:
    where = f"{path}: {name}"
    if not isinstance(entry, dict) or not isinstance(entry.get("litellm_provider"), str):
        raise PriceFileError(f"{where}: no litellm_provider")
    groups: dict[tuple[str, int], list[tuple[str, Decimal]]] = {}
    for key, value in entry.items():
        match = _KEY.match(key)
        if match is None or match.group(3) not in (None, *TIERS):
            continue
        if (type(value) is not Decimal and type(value) is not int) or not 0 <= value < 1:
            raise PriceFileError(f"{where}: {key} = {value!r} is no price per token")
        tier, above = TIERS[match.group(3) or ""], int(match.group(2) or 0) * 1000
        groups.setdefault((tier, above), []).append((CLASSES[match.group(1)], Decimal(value) * 1_000_000))
    listed: str = entry["litellm_provider"]
    provider = "vertex" if listed.startswith("vertex_ai") else PROVIDERS.get(listed, listed)
    pattern = name.lower().removeprefix(f"{listed}/").replace("[", "[[]")
    scope = Scope(where, (provider,), (pattern,), None, None, "LiteLLM", date.min, "official", own=True)
    return [PriceRow(scope, tuple(rates), tier, above) for (tier, above), rates in sorted(groups.items())]
