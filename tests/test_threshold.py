"""--fail-over and --min-loss."""

from pathlib import Path

import pytest

from hitledger.audit import audit
from hitledger.errors import HitledgerError, UsageError
from hitledger.threshold import parse_threshold
from hitledger.verdicts import MinLoss, parse_min_loss

CLOCK = str(Path(__file__).parent.parent / "fixtures" / "scenarios" / "01-system-clock-seconds.json")
UNPRICED = str(Path(__file__).parent.parent / "fixtures" / "scenarios" / "17-tool-arguments-resorted.json")


@pytest.mark.parametrize(
    ("text", "exceeded"),
    [
        ("2343tokens", True),
        ("2344tokens", False),
        ("0.008086usd", True),
        ("0.0081 USD", False),
        ("10%", True),
        ("100%", False),
    ],
)
def test_limits(text: str, exceeded: bool) -> None:
    """1,140 + 1,204 tokens rebilled, $0.0039330 + $0.0041538 lost; reaching the limit is allowed."""
    assert parse_threshold(text).exceeded(audit([CLOCK])) is exceeded


def test_the_figure_is_written_with_its_unit() -> None:
    found = audit([CLOCK])
    written = [parse_threshold(text).written(found) for text in ("5tokens", "1usd")]
    assert written == ["2,344 tokens", "0.0081usd"]


@pytest.mark.parametrize("text", ["", "5", "x%", "-1usd", "nantokens", "1e9999999999usd", "%"])
def test_wrong_limits(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-over"):
        parse_threshold(text)


def test_money_without_a_price_is_refused() -> None:
    with pytest.raises(HitledgerError, match="no price"):
        parse_threshold("1usd").exceeded(audit([UNPRICED]))
    assert parse_threshold("1tokens").exceeded(audit([UNPRICED]))


def test_a_log_in_which_nothing_can_be_judged_keeps_no_limit() -> None:
    """Every prompt, no provider, no usage: that no break was found says nothing."""
    found = audit([str(Path(__file__).parent.parent / "fixtures" / "aider")])
    assert (len(found.calls), found.breaks) == (3, ())
    for limit in ("1%", "1usd", "1tokens"):
        with pytest.raises(HitledgerError, match=f"--fail-over {limit}: no call of this log could be judged"):
            parse_threshold(limit).exceeded(found)


def test_min_loss() -> None:
    assert parse_min_loss("1000,10%") == MinLoss(1000, 0.1)
    assert parse_min_loss("5%").reached(50, 1000)
    assert not parse_min_loss("5%").reached(49, 1000)
    assert parse_min_loss("300").reached(300, 10**9)
    assert not parse_min_loss("300").reached(299, 300)
    assert not MinLoss().reached(0, 0)
    with pytest.raises(UsageError):
        parse_min_loss("many")


@pytest.mark.parametrize("text", ["", "²", "-5", "1e3", "nan%", "1,2,3%", "5%%", "1" * 20])
def test_what_is_no_min_loss(text: str) -> None:
    with pytest.raises(UsageError, match=f"--min-loss {text}: give tokens, a percentage, or both"):
        parse_min_loss(text)
