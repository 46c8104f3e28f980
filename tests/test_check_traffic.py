"""Recorded traffic under another prompt: hit rate, one-off and steady cost against hand calculations.

Two sessions take turns, a call every 30 seconds, within every lifetime. Tools 3 x 400 tokens, system prompt 1,200, so
the head H is 2,400. Questions: Ada 50 tokens, Bo 60, then an answer of 20 and a question of 50 each time. Order of calls:
Ada 1, Bo 1, Ada 2, Bo 2, Ada 3, Bo 3, with prompts of H + 50, 60, 120, 130, 190, 200. Answers are 20 tokens.

Claude Sonnet 4.5, USD a million tokens: input 3, read 0.30, write (5 minutes) 3.75, output 15. Marks stand on the last
tool, the system prompt and the newest question, so each call reads the longest entry and writes the rest:
  reads  0, H (system prompt of Ada 1), H+50, H+60, H+120, H+130 = 5 H + 360
  writes H+50, 60, 70, 70, 70, 70                                = H + 390
GPT-4.1: input 2, read 0.50, output 8. Reads are the longest common prefix in steps of 128 tokens, from 1,024 on.

The deploy falls on the busiest moment, in front of Ada 3 unless said otherwise: Ada 3 and Bo 3 get the candidate and
find what is left of the baseline.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from hitledger.check.result import CheckResult
from hitledger.check.run import CheckOptions, check
from hitledger.tokens import TokenCounter
from hitledger.types import Certainty

FOLDER = Path(__file__).parent.parent / "fixtures" / "check" / "traffic"
MILLION = Decimal(1_000_000)
CENT = Decimal("0.000001")  # far finer than a cent: one millionth of a dollar


def run(baseline: str, candidate: str, log: str) -> CheckResult:
    files = {"baseline": str(FOLDER / baseline), "candidate": str(FOLDER / candidate)}
    return check(CheckOptions(**files, logs=(str(FOLDER / log),)))  # type: ignore[arg-type]


def anthropic(read: int, written: int, uncached: int, answers: int) -> Decimal:
    """USD of so many tokens of Claude Sonnet 4.5."""
    return (read * Decimal("0.3") + written * Decimal("3.75") + uncached * 3 + answers * 20 * 15) / MILLION


def openai(read: int, uncached: int, answers: int) -> Decimal:
    """USD of so many tokens of GPT-4.1."""
    return (read * Decimal("0.5") + uncached * 2 + answers * 20 * 8) / MILLION


def expect(result: CheckResult, rate: tuple[float, float], cost: tuple[Decimal, Decimal], once: Decimal) -> None:
    """The figures of a log of less than a day, which counts as a day."""
    assert result.hit_rate is not None
    assert result.cost_per_day is not None
    assert result.cost_per_1000_calls is not None
    assert result.traffic is not None
    assert (result.hit_rate.before, result.hit_rate.after) == pytest.approx(rate, abs=1e-12)
    assert (result.cost_per_day.before, result.cost_per_day.after) == tuple(one.quantize(CENT) for one in cost)
    assert result.one_off_cost == once.quantize(CENT)
    calls = result.traffic.calls
    assert result.traffic.calls_substituted == calls
    assert result.traffic.certainty is Certainty.CALIBRATED
    assert result.cost_per_1000_calls.after == (cost[1] * 1000 / calls).quantize(CENT)
    assert result.hit_rate.before == pytest.approx(result.traffic.reported_hit_rate, abs=1e-12)


def test_the_texts_have_the_lengths_of_the_calculations() -> None:
    counter = TokenCounter()
    lengths = {"system.md": 1200, "system-1500.md": 1500, "system-900.md": 900, "notes.md": 100, "notes-160.md": 160}
    for name, tokens in lengths.items():
        assert len(counter.ids((FOLDER / name).read_text(), "claude-sonnet-4-5")) == tokens


def test_longer_system_prompt_anthropic() -> None:
    """1,200 tokens become 1,500: H grows from 2,400 to 2,700.

    before: reads 5 x 2,400 + 360 = 12,360, writes 2,790, all 15,150; after: 13,860, 3,090, 16,950.
    At the deploy the tools (1,200) are still there. Ada 3 reads 1,200 instead of 2,820: 1,620 written again.
    Bo 3 finds the system prompt that Ada 3 wrote, 2,700 instead of 2,830: 130. In all 1,750 x (3.75 - 0.30) = 6,037.5.
    """
    result = run("system.md", "system-1500.md", "anthropic.jsonl")
    cost = (anthropic(12_360, 2_790, 0, 6), anthropic(13_860, 3_090, 0, 6))
    expect(result, (12_360 / 15_150, 13_860 / 16_950), cost, 1_750 * Decimal("3.45") / MILLION)
    assert [(one.id, one.path, one.rewritten_tokens, one.broken_calls) for one in result.sessions] == [
        ("Ada", "system[0].text", 1_620, 1),
        ("Bo", "system[0].text", 130, 1),
    ]


def test_longer_system_prompt_openai() -> None:
    """H grows from 2,400 to 2,700; the new text differs from its first character on.

    before, common prefixes 2,400 2,450 2,460 2,520 2,530 in steps of 128: 2,304 + 4 x 2,432 = 12,032 of 15,150.
    after, 2,700 2,750 2,760 2,820 2,830: 3 x 2,688 + 2 x 2,816 = 13,696 of 16,950.
    At the deploy Ada 3 shares the tools, 1,200 -> 1,152 instead of 2,816; Bo 3 shares 2,700 with Ada 3 -> 2,688 instead
    of 2,816: (1,664 + 128) x (2 - 0.50) = 2,688.
    """
    result = run("system.md", "system-1500.md", "openai.jsonl")
    cost = (openai(12_032, 3_118, 6), openai(13_696, 3_254, 6))
    expect(result, (12_032 / 15_150, 13_696 / 16_950), cost, 1_792 * Decimal("1.5") / MILLION)


def test_tool_in_the_middle_anthropic() -> None:
    """400 tokens behind the first tool: H = 2,800, and no entry ends in front of them.

    after: reads 5 x 2,800 + 360 = 14,360, writes 3,190, all 17,550. Ada 3 reads 0 instead of 2,920, Bo 3 the head of
    Ada 3, 2,800 instead of 2,930: 3,050 x 3.45 = 10,522.5.
    """
    result = run("tools-anthropic.json", "tools-anthropic-inserted.json", "anthropic.jsonl")
    cost = (anthropic(12_360, 2_790, 0, 6), anthropic(14_360, 3_190, 0, 6))
    expect(result, (12_360 / 15_150, 14_360 / 17_550), cost, 3_050 * Decimal("3.45") / MILLION)
    assert {one.path for one in result.sessions} == {"tools[1].name"}


def test_tool_in_the_middle_openai() -> None:
    """H = 2,800; after, 2,800 2,850 2,860 2,920 2,930: 2,688 + 4 x 2,816 = 13,952 of 17,550.

    The deploy falls in front of Ada 2, since all reads are of one size: it shares 400 tokens and a little with what
    was sent before, below the 1,024 that are cached: 0 instead of 2,816. Bo 2 shares the 2,800 of Ada 2 -> 2,688 instead
    of 2,816. Ada 3 and Bo 3 find their own: (2,816 + 128) x 1.5 = 4,416.
    """
    result = run("tools-openai.json", "tools-openai-inserted.json", "openai.jsonl")
    cost = (openai(12_032, 3_118, 6), openai(13_952, 3_598, 6))
    expect(result, (12_032 / 15_150, 13_952 / 17_550), cost, 2_944 * Decimal("1.5") / MILLION)


def test_tool_at_the_end_anthropic() -> None:
    """The mark moves to the new last tool and looks back: the three old ones (1,200) are read at the deploy.

    Ada 3: 1,200 instead of 2,920, Bo 3: 2,800 instead of 2,930: (1,720 + 130) x 3.45 = 6,382.5.
    """
    result = run("tools-anthropic.json", "tools-anthropic-appended.json", "anthropic.jsonl")
    cost = (anthropic(12_360, 2_790, 0, 6), anthropic(14_360, 3_190, 0, 6))
    expect(result, (12_360 / 15_150, 14_360 / 17_550), cost, 1_850 * Decimal("3.45") / MILLION)
    assert {one.path for one in result.sessions} == {"tools[3]"}


def test_tool_at_the_end_openai() -> None:
    """In front of Ada 2 again: 1,200 -> 1,152 instead of 2,816, then 2,688 instead of 2,816: 1,792 x 1.5 = 2,688."""
    result = run("tools-openai.json", "tools-openai-appended.json", "openai.jsonl")
    cost = (openai(12_032, 3_118, 6), openai(13_952, 3_598, 6))
    expect(result, (12_032 / 15_150, 13_952 / 17_550), cost, 1_792 * Decimal("1.5") / MILLION)


def test_text_behind_the_last_mark_anthropic() -> None:
    """Marks on tools and system prompt only; 100 tokens of notes behind them become 160: no read is lost.

    Three calls read 0, 2,400, 2,400; uncached 150, 220, 290 = 660, after 60 more each = 840.
    """
    result = run("notes.md", "notes-160.md", "anthropic-tail.jsonl")
    cost = (anthropic(4_800, 2_400, 660, 3), anthropic(4_800, 2_400, 840, 3))
    expect(result, (4_800 / 7_860, 4_800 / 8_040), cost, Decimal(0))
    assert str(result.one_off_cost) == "0"


def test_text_at_the_end_of_the_head_openai() -> None:
    """An automatic cache has no marks: prompts 2,550 2,620 2,690, common 2,550 2,620: 2,432 + 2,560 = 4,992 of 7,860.

    after 2,610 2,680: 2,560 + 2,560 = 5,120 of 8,040. Deploy in front of the second call: it shares 2,400 -> 2,304
    instead of 2,560; the third finds its own: 256 x 1.5 = 384.
    """
    result = run("notes.md", "notes-160.md", "openai-tail.jsonl")
    cost = (openai(4_992, 2_868, 3), openai(5_120, 2_920, 3))
    expect(result, (4_992 / 7_860, 5_120 / 8_040), cost, 256 * Decimal("1.5") / MILLION)


def test_below_the_minimum_anthropic() -> None:
    """A system prompt alone, 1,200 tokens with a mark, becomes 900: below 1,024 nothing is written or read.

    before: writes 1,200, reads 2 x 1,200, uncached 50 + 120 + 190 = 360; after: 950 + 1,020 + 1,090 = 3,060 uncached.
    Nothing has to be written again.
    """
    result = run("system.md", "system-900.md", "anthropic-short.jsonl")
    expect(
        result,
        (2_400 / 3_960, 0.0),
        (anthropic(2_400, 1_200, 360, 3), anthropic(0, 0, 3_060, 3)),
        Decimal(0),
    )


def test_below_the_minimum_openai() -> None:
    """before: common 1,250 1,320 -> 1,152 + 1,280 = 2,432 of 3,960; after: 950 and 1,020 are below 1,024."""
    result = run("system.md", "system-900.md", "openai-short.jsonl")
    expect(result, (2_432 / 3_960, 0.0), (openai(2_432, 1_528, 3), openai(0, 3_060, 3)), Decimal(0))
