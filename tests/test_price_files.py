"""Prices files of the user: what they replace, and what is refused with file, row and reason."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from hitledger.prices import PriceBook
from hitledger.prices.book import shipped_rows
from hitledger.prices.rowfile import PriceFileError, refuse_overlaps
from price_figures import NOON, at, million


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return PriceBook()


# the user's file

OWN = """
schema = 1
[[price]]
provider = "anthropic"
models = ["claude-opus-5*"]
input = 4.5
cache_write = { "5m" = "5.6", "1h" = 9 }
source = "contract"
checked = 2026-01-01
[[price]]
provider = "anthropic"
models = ["claude-opus-5*"]
above = 100000
input = 9
source = "contract"
checked = 2026-01-01
[[modifier]]
provider = "anthropic"
models = ["claude-opus-5*"]
tier = "batch"
factor = "0.4"
source = "contract"
checked = 2026-01-01
[[alias]]
provider = "azure"
models = ["our-production-model"]
model = "gpt-5"
source = "portal"
checked = 2026-01-01
[[storage]]
provider = "google"
models = ["gemini-4-*"]
per_mtok_hour = 2
source = "contract"
checked = 2026-01-01
"""


def own_book(folder: Path, text: str) -> PriceBook:
    path = folder / "own.toml"
    path.write_text(text)
    return PriceBook(path)


def test_the_users_file_comes_first(tmp_path: Path) -> None:
    book = own_book(tmp_path, OWN)
    rates = book.rates("claude-opus-5", "anthropic", NOON)
    assert million(rates, ["", "1h"]) == ["4.5", "0.5", "25", "5.6", "9"]
    assert rates.source.endswith(f"{tmp_path / 'own.toml'}: price row 1")
    assert million(book.rates("claude-opus-5", "anthropic", NOON, "", 100_001))[0] == "9"
    assert million(book.rates("claude-opus-5", "anthropic", NOON, "batch")) == ["1.8", "0.2", "10"]
    assert million(book.rates("our-production-model", "azure", NOON))[0] == "1.25"
    assert book.storage("gemini-4-argon", "google", NOON) * 1_000_000 == 2
    assert million(book.rates("claude-sonnet-4-5", "anthropic", NOON))[0] == "3"


def test_notes_of_rows_are_shown_with_their_rates(tmp_path: Path) -> None:
    row = OWN.replace("input = 4.5", 'input = 4.5\nevidence = "inferred"\nnote = "until March"')
    rates = own_book(tmp_path, row).rates("claude-opus-5", "anthropic", NOON)
    assert rates.notes == ("inferred: contract; until March",)


def test_an_explicit_zero_is_a_price(tmp_path: Path) -> None:
    row = 'provider = "local"\nmodels = ["*"]\ninput = 0\noutput = 0\nsource = "own machine"\nchecked = 2026-01-01'
    rates = own_book(tmp_path, f"schema = 1\n[[price]]\n{row}\n").rates("llama", "local", NOON)
    assert (rates.input, rates.output) == (Decimal(0), Decimal(0))


PRICE = """[[price]]
provider = "anthropic"
models = ["claude-opus-5*"]
source = "x"
checked = 2026-01-01
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "schema must be 1", id="no schema"),
        pytest.param("schema = 2", "schema must be 1", id="other schema"),
        pytest.param("schema = ", "not TOML", id="no TOML"),
        pytest.param("schema = 1\n[[prices]]", "wrong table 'prices'", id="wrong table"),
        pytest.param("schema = 1\n[price]", r"write \[\[price\]\]", id="one bracket"),
        pytest.param(f"schema = 1\n{PRICE}inptu = 1\n", "price row 1: gives no rate", id="no rate"),
        pytest.param(f"schema = 1\n{PRICE}input = 1\ntears = 2\n", "price row 1: wrong key 'tears'", id="wrong key"),
        pytest.param(
            f"schema = 1\n{PRICE}input = 1\n{PRICE}input = -1\n",
            "price row 2: input = -1 is not a number",
            id="negative",
        ),
        pytest.param(f"schema = 1\n{PRICE}input = nan\n", "input = Decimal..NaN.. is not a number", id="NaN"),
        pytest.param(f'schema = 1\n{PRICE}input = "1e9"\n', "from 0 to 1000000", id="too much"),
        pytest.param(f'schema = 1\n{PRICE}input = "free"\n', "'free' is not a number", id="text"),
        pytest.param(f"schema = 1\n{PRICE}input = true\n", "True is not a number", id="bool"),
        pytest.param(
            f'schema = 1\n{PRICE}input = 1\nvalid_from = "2026-02-30"\n', "is not a day like 2026-10-07", id="date"
        ),
        pytest.param(
            f"schema = 1\n{PRICE}input = 1\nvalid_from = 2026-02-02\nvalid_to = 2026-02-02\n",
            "valid_to 2026-02-02 is not after valid_from 2026-02-02",
            id="empty span",
        ),
        pytest.param(f"schema = 1\n{PRICE}input = 1\nabove = -1\n", "above = -1 is negative", id="above"),
        pytest.param(f'schema = 1\n{PRICE}input = 1\nevidence = "rumour"\n', "'rumour' is none of", id="evidence"),
        pytest.param(
            f'schema = 1\n{PRICE}input = 1\ncache_write = {{ "1h" = "x" }}\n', "cache_write: 1h = 'x'", id="write rate"
        ),
        pytest.param(
            f"schema = 1\n{PRICE}input = 1\n{PRICE}input = 2\n", "price row 2: overlaps price row 1", id="overlap"
        ),
        pytest.param(
            f"schema = 1\n{PRICE}input = 1\nvalid_to = 2026-03-01\n{PRICE}input = 2\nvalid_from = 2026-02-28\n",
            "overlaps",
            id="overlap of a day",
        ),
        pytest.param("schema = 1\nprice = [1]\n", "price row 1: is not a table", id="no table"),
        pytest.param(
            'schema = 1\n[[price]]\nprovider = "a"\nmodels = []\n', "models must be a text or a list", id="no models"
        ),
        pytest.param(
            'schema = 1\n[[price]]\nprovider = "a"\nmodels = "b"\ninput = 1\nchecked = 2026-01-01\n',
            "source is missing",
            id="no source",
        ),
        pytest.param(
            f'schema = 1\n{PRICE.replace("price", "window", 1)}days = ["sunday"]\nhours = ["01:00-02:00"]\nfactor = 2\n',
            "window row 1: days: 'sunday'",
            id="day",
        ),
        pytest.param(
            f'schema = 1\n{PRICE.replace("price", "window", 1)}days = ["sun"]\nhours = ["23:00-01:00"]\nfactor = 2\n',
            "ends before it starts",
            id="hours",
        ),
        pytest.param(
            f'schema = 1\n{PRICE.replace("price", "window", 1)}days = ["sun"]\nhours = ["late"]\nfactor = 2\n',
            "'late' is not like 01:00-04:00",
            id="no hours",
        ),
        *(
            pytest.param(
                f'schema = 1\n{PRICE.replace("price", "window", 1)}days = ["sun"]\nhours = ["{hours}"]\nfactor = 2\n',
                f"'{hours}' is not like 01:00-04:00".replace("+", "."),
                id=hours,
            )
            for hours in ("01:00+02:00-04:00", "01:00:30-04:00", "00:00-25:00")
        ),
        pytest.param(
            f'schema = 1\n{PRICE.replace("price", "window", 1)}days = ["sun"]\nhours = ["01:00-02:00"]\nfactor = 2\n'
            'holidays = "xmas"\n',
            "window row 1: there are no holidays named 'xmas'",
            id="no holidays",
        ),
        *(
            pytest.param(
                f"schema = 1\n{row}{row}", f"{row[2 : row.index(']')]} row 2: overlaps", id=row[2 : row.index("]")]
            )
            for row in (
                PRICE.replace("price", "modifier", 1) + 'tier = "batch"\nfactor = 1\n',
                PRICE.replace("price", "write", 1) + 'lifetime = "12h"\nof_input = 1\n',
                PRICE.replace("price", "window", 1) + 'days = ["sun"]\nhours = ["01:00-02:00"]\nfactor = 2\n',
                PRICE.replace("price", "storage", 1) + "per_mtok_hour = 1\n",
                PRICE.replace("price", "alias", 1) + 'model = "gpt-5"\n',
            )
        ),
        pytest.param(
            f"schema = 1\n{PRICE}input = 1\n{PRICE.replace('opus-5', '*-5-5')}input = 2\n",
            "price row 2: overlaps price row 1",
            id="patterns that meet",
        ),
        pytest.param(
            "schema = 1\n" + '[[holidays]]\nname = "x"\ndays = []\nknown_to = 2026-01-01\nsource = "s"\n' * 2,
            "holidays row 2: 'x' is listed twice",
            id="holidays twice",
        ),
        pytest.param(
            f'schema = 1\n{PRICE.replace("price", "modifier", 1)}tier = ""\nfactor = 2\n', "tier is empty", id="no tier"
        ),
        pytest.param(
            f'schema = 1\n{PRICE}cache_write = {{ "5M" = 2 }}\n', "'5M' is no lifetime like 5m or 1h", id="lifetime"
        ),
        pytest.param(
            f'schema = 1\n{PRICE}cache_write = {{ "5m" = 2, "30m" = 3 }}\n', "are both the default", id="two defaults"
        ),
        pytest.param(f"schema = 1\nx = {'9' * 4301}", "line 2 is longer than 4,000 characters", id="long line"),
        pytest.param("schema = 1\nx = " + "[" * 3000, "nested too deeply", id="nested"),
        pytest.param("schema = true", "schema must be 1", id="true"),
        pytest.param("schema = 1\n" + "[[price]]\n" * 1001, "more than 1,000 price rows", id="too many rows"),
        pytest.param('schema = 1\n[[holidays]]\nname = "x"\ndays = ["x"]\n', "days must be a list of days", id="days"),
    ],
)
def test_a_wrong_file_is_refused_with_file_row_and_reason(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(PriceFileError, match=reason) as raised:
        own_book(tmp_path, text)
    assert str(raised.value).startswith(str(tmp_path / "own.toml"))
    assert raised.value.exit_code == 2


def test_spans_that_meet_do_not_overlap(tmp_path: Path) -> None:
    rows = f"{PRICE}input = 1\nvalid_to = 2026-03-01\n{PRICE}input = 2\nvalid_from = 2026-03-01\n"
    book = own_book(tmp_path, f"schema = 1\n{rows}")
    days = ("2026-02-28T23:59", "2026-03-01")
    assert [million(book.rates("claude-opus-5", "anthropic", at(day)))[0] for day in days] == ["1", "2"]


def test_a_file_that_is_missing_or_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PriceFileError, match="cannot be read"):
        PriceBook(tmp_path / "absent.toml")
    with pytest.raises(PriceFileError, match="cannot be read"):
        PriceBook(tmp_path / "absent.json")
    monkeypatch.setattr("hitledger.prices.rowfile.MAX_BYTES", 10)
    with pytest.raises(PriceFileError, match="larger than 10 bytes"):
        own_book(tmp_path, OWN)


WINDOW = PRICE.replace("price", "window", 1).replace("anthropic", "deepseek").replace("claude-opus-5*", "deepseek-v4*")


@pytest.mark.parametrize(
    ("hours", "clock", "input_rate"),
    [
        ("01:10-04:20", "01:09", "0.3"),
        ("01:10-04:20", "01:10", "0.9"),
        ("01:10-04:20", "04:19", "0.9"),
        ("01:10-04:20", "04:20", "0.3"),
        ("20:00-24:00", "23:59", "0.9"),
        ("20:00-24:00", "00:00", "0.3"),
    ],
)
def test_the_users_hours_replace_ours_to_the_minute(
    tmp_path: Path, hours: str, clock: str, input_rate: str, book: PriceBook
) -> None:
    """Off-peak is the shipped price; the user's window trebles it where ours would double it."""
    row = f'{WINDOW}days = ["mon"]\nhours = ["{hours}"]\nfactor = 3\n'
    mine = own_book(tmp_path, f"schema = 1\n{row}")
    monday, off_peak = "2026-11-23", at("2026-11-23T12:00")
    mine.rates("deepseek-v4-flash", "deepseek", at(f"{monday}T01:00"))  # an answer of another minute is not given again
    mine.rates("deepseek-v4-flash", "deepseek", at(f"{monday}T23:00"))
    base = book.rates("deepseek-v4-flash", "deepseek", off_peak).input
    found = mine.rates("deepseek-v4-flash", "deepseek", at(f"{monday}T{clock}")).input
    assert found / base == Decimal(input_rate) / Decimal("0.3")


# LiteLLM's table


def test_a_litellm_table_is_a_prices_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(
        """{"sample_spec": {"input_cost_per_token": 0},
            "claude-opus-5": {"litellm_provider": "anthropic", "input_cost_per_token": 4e-06, "mode": "chat",
              "cache_creation_input_token_cost": 5e-06, "cache_creation_input_token_cost_above_1hr": 8e-06,
              "input_cost_per_token_above_200k_tokens": 9e-06, "input_cost_per_token_batches": 1e-06},
            "azure/our-model": {"litellm_provider": "azure", "input_cost_per_token": 3e-06}}"""
    )
    book = PriceBook(path)
    assert million(book.rates("claude-opus-5", "anthropic", NOON), ["5m", "1h"]) == ["4", "0.5", "25", "5", "8"]
    assert million(book.rates("claude-opus-5", "anthropic", NOON, "", 200_001))[0] == "9"
    assert million(book.rates("claude-opus-5", "anthropic", NOON, "batch"))[0] == "1"
    assert million(book.rates("our-model", "azure", NOON))[0] == "3"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1", "not JSON"),
        ("[1]", "not an object"),
        ('{"m": 3}', "m: no litellm_provider"),
        ('{"m": {"litellm_provider": "x", "input_cost_per_token": -1}}', "m: input_cost_per_token = -1 is no price"),
        ('{"m": {"litellm_provider": "x", "input_cost_per_token": "1"}}', "is no price"),
    ],
)
def test_a_wrong_litellm_table_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(PriceFileError, match=reason):
        PriceBook(path)


def test_every_shipped_row_names_source_and_day() -> None:
    rows = shipped_rows()
    scopes = [
        row.scope for group in (rows.prices, rows.modifiers, rows.writes, rows.windows, rows.storage) for row in group
    ]
    assert len(scopes) > 40
    refuse_overlaps(rows)
    assert all(scope.source and scope.checked <= date(2026, 11, 29) for scope in scopes)
