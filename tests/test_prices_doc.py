"""docs/prices.md says what the code does: its example is a valid file with every row and key there is."""

import re
import tomllib
from pathlib import Path

from hitledger.billing import CostSource
from hitledger.prices.rowfile import parse_price_file, refuse_overlaps
from hitledger.prices.rows import PriceFile

TEXT = (Path(__file__).parent.parent / "docs" / "prices.md").read_text()
EXAMPLE = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL).group(1)  # type: ignore[union-attr]


def test_the_example_is_read_and_has_every_kind_of_row() -> None:
    rows = parse_price_file(EXAMPLE, "docs/prices.md", own=True)
    refuse_overlaps(rows)
    kinds = [name for name in PriceFile.__struct_fields__ if name != "name"]
    assert all(len(getattr(rows, kind)) == 1 for kind in kinds)
    assert len(kinds) == len(tomllib.loads(EXAMPLE)) - 1


def test_the_order_of_truth_is_the_one_in_the_code() -> None:
    listed = re.findall(r"^\d\. `([^`]+)`:", TEXT, re.MULTILINE)
    assert listed == [source.value for source in CostSource]


def test_each_tier_and_lifetime_row_shipped_is_in_the_table() -> None:
    gaps = TEXT.partition("## What the list lacks")[2]
    for words in ("12 hours", "1-hour", "Sonnet 5.5", "peak hours", "inference_geo", "batch", "storage", "Azure"):
        assert words in gaps
