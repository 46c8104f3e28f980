"""The same calls under another rule: tokens and dollars by hand, one word one token, Sonnet 4.5 at its list price.

Input $3, reads $0.30, writes $3.75 (5m) and $6 (1h), output $15 per million; each call answers with 10 tokens.
"""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from call_builders import call, usage
from hitledger.errors import UsageError
from hitledger.logs.read import read_logs
from hitledger.policies.rules import shipped
from hitledger.prices import PriceBook
from hitledger.segments import Api
from hitledger.types import Call, Certainty, Evidence
from hitledger.whatif.changes import MarkAt, with_lifetime, with_marks, without_split
from hitledger.whatif.run import Change, WhatIf, what_if
from hitledger_reports import figures
from hitledger_reports.cli import app
from hitledger_reports.whatif_view import lines, parse_marks, result
from rule_builders import WordCounter, blocks, words

MODEL = "claude-sonnet-4-5"
SCENARIOS = Path(__file__).parent.parent / "fixtures" / "scenarios"


def turn(number: int, texts: tuple[str, ...], written: int, read: int = 0, system: str = "", **fields: Any) -> Call:
    """A Messages call, its last text marked; texts alternate between user and assistant."""
    turns = [
        {"role": ("user", "assistant")[i % 2], "content": [{"type": "text", "text": text}]}
        for i, text in enumerate(texts)
    ]
    turns[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}  # type: ignore[index]
    body: dict[str, Any] = {"model": MODEL, "messages": turns}
    if system:
        body["system"] = [{"type": "text", "text": system}]
    return call(body, number, used=usage(0, read, written), **fields)


def changed(calls: list[Call], **change: Any) -> WhatIf:
    return what_if(calls, Change(**change), shipped(), PriceBook(), WordCounter())  # type: ignore[arg-type]


def usd(uncached: int = 0, read: int = 0, five: int = 0, hour: int = 0, output: int = 0) -> Decimal:
    rates = (("3", uncached), ("0.3", read), ("3.75", five), ("6", hour), ("15", output))
    return sum((Decimal(rate) * tokens for rate, tokens in rates), Decimal(0)) / 1_000_000


def ten_minutes_apart() -> list[Call]:
    body = blocks((10, "5m"), number=10, size=200, model=MODEL)
    return [call(body, n, at=600.0 * n, used=usage(0, 0, 2000)) for n in range(2)]


def test_an_hour_instead_of_five_minutes() -> None:
    found = changed(ten_minutes_apart(), lifetime="1h")
    assert (found.before.read, found.before.written, found.before.cost) == (0, 4000, usd(five=4000, output=20))
    assert (found.after.read, found.after.written) == (2000, 2000)
    assert found.after.cost == usd(hour=2000, read=2000, output=20)
    assert (found.before.hit_rate, found.after.hit_rate) == (0.0, 0.5)


def test_both_sides_are_simulated_whatever_the_log_read() -> None:
    """A read that an unlogged call made possible is on neither side, and said."""
    first, second = ten_minutes_apart()
    found = changed(
        [first, call(blocks((10, "5m"), number=10, size=200, model=MODEL), 1, at=600.0, used=usage(0, 2000))],
        lifetime="5m",
    )
    assert found.logged.read == 2000
    assert (found.before.read, found.after.read) == (0, 0)
    assert second.usage is not None


def edited_system() -> list[Call]:
    """The first word of a 2,000-word system prompt changes: all is written again."""
    return [
        turn(0, ("q1",), 2001, system=f"monday {words(1999)}"),
        turn(1, ("q1", "a1", "q2"), 2003, system=f"tuesday {words(1999)}"),
        turn(2, ("q1", "a1", "q2", "a2", "q3"), 2, 2003, system=f"tuesday {words(1999)}"),
    ]


def test_a_mended_break_reads_what_was_left_and_no_more() -> None:
    found = changed(edited_system(), mend="all")
    assert [breaks for _, breaks in found.mended] == [1]
    assert (found.before.read, found.before.written) == (2003, 4006)
    assert (found.after.read, found.after.written) == (2001 + 2003, 2001 + 2 + 2)
    assert found.after.input_tokens == found.before.input_tokens


def test_one_cause_alone_can_be_mended() -> None:
    (cause, _), *_ = changed(edited_system(), mend="all").mended
    assert changed(edited_system(), mend=cause).after == changed(edited_system(), mend="all").after
    with pytest.raises(UsageError, match=f"no break of that cause in these logs; there are: {cause}"):
        changed(edited_system(), mend="tools.reordered")


def shrunken() -> list[Call]:
    """2,999 words become 1,499 in place; then the session goes on."""
    long, short = words(2999, "long"), words(1499, "short")
    return [
        turn(0, (f"{long} q1",), 3001, system="s"),
        turn(1, (f"{short} q1", "a1", "q2"), 1503, system="s"),
        turn(2, (f"{short} q1", "a1", "q2", "a2", "q3"), 2, 1503, system="s"),
    ]


def test_what_a_shrunken_prompt_had_dropped_is_sent_again_when_it_is_mended() -> None:
    """Mended, the second call reads 3,001 and writes 2, the third reads 3,003 and writes 2: 1,500 more in each."""
    found = changed(shrunken(), mend="all")
    assert (found.before.input_tokens, found.before.read, found.before.written) == (6009, 1503, 4506)
    assert (found.after.input_tokens, found.after.read, found.after.written) == (9009, 3001 + 3003, 3001 + 2 + 2)
    assert "3,000 tokens are sent again that the shrunken prompts had dropped (estimated)" in found.notes


def compacted() -> list[Call]:
    summary = words(1099, "summary")
    return [
        turn(0, (words(3000, "long"),), 3001, system="s"),
        turn(1, (summary,), 1100, system="s", events=("compaction",)),
        turn(2, (summary, "a", "q"), 2, 1100, system="s"),
    ]


def test_compaction_is_left_alone_its_rewriting_and_its_gain_kept_apart() -> None:
    found = changed(compacted(), mend="all")
    assert found.mended == ()
    assert found.after == found.before
    apart = found.compactions
    assert (apart.calls, apart.rewritten, apart.saved_tokens) == (1, 1100, 3001 - 1100)
    assert (apart.cost, apart.saved) == (usd(five=1100) - usd(read=1100), usd(read=1901))
    with pytest.raises(UsageError, match="a summary is new text, nothing holds it"):
        changed(compacted(), mend="messages.compacted")


def test_marks_at_other_places() -> None:
    """Only the question is marked and it changes: nothing is read. With the system prompt marked it is."""
    calls = [turn(n, (f"q{n}",), 2001, system=words(2000)) for n in range(3)]
    found = changed(calls, marks=(MarkAt.SYSTEM, MarkAt.LAST))
    assert (found.before.read, found.before.written) == (0, 6003)
    assert (found.after.read, found.after.written) == (4000, 2001 + 1 + 1)
    (first, *_) = with_marks(calls, (MarkAt.SYSTEM,), "1h")
    assert [segment.mark for segment in first.prompt.segments()] == ["1h", None]


def test_marks_of_a_transcript_cannot_be_moved() -> None:
    body = blocks((10, "5m"), number=10, size=200, model=MODEL)
    whole = call(body, 0, used=usage(0, 0, 2000))
    transcript = Call(**{name: getattr(whole, name) for name in Call.__slots__} | {"evidence": Evidence.RECONSTRUCTED})
    with pytest.raises(UsageError, match="a transcript shows no marks"):
        changed([transcript], marks=(MarkAt.LAST,))


def test_another_model_and_another_engine() -> None:
    calls = edited_system()
    found = changed(calls, model="claude-opus-4-5")
    assert found.after.read == 0  # 2,003 tokens are below its 4,096
    assert "prompts are taken to be as long as logged" in found.notes[0]
    engine = changed(calls, provider="sglang")
    assert engine.after.read == 2003 + 1  # and the answer a2, which it generated itself
    assert (engine.after.cost, engine.after.unpriced) == (None, 3)
    with pytest.raises(UsageError, match="say who serves it with --provider"):
        changed(calls, model="my-own")


def test_simulating_what_the_rule_itself_gives_changes_nothing() -> None:
    texts = tuple(f"{words(1500)} t{i}" for i in range(9))
    calls, left = [], 0
    for number in range(5):
        total = 1501 * (2 * number + 1)
        calls.append(turn(number, texts[: 2 * number + 1], total - left, left))
        left = total
    found = changed(calls, mend="all")
    assert found.before == found.after == replace(found.logged, certainty=Certainty.ESTIMATED)


def test_changes_are_pure_and_keep_the_length_of_prompts() -> None:
    calls = ten_minutes_apart()
    longer = with_lifetime(without_split(calls), "1h")
    assert [one.usage.input_tokens for one in longer if one.usage] == [2000, 2000]
    assert {segment.mark for segment in calls[0].prompt.segments()} == {None, "5m"}
    assert {segment.mark for segment in longer[0].prompt.segments()} == {None, "1h"}


def test_a_lifetime_has_to_be_one() -> None:
    with pytest.raises(UsageError, match="give it like 5m or 1h"):
        changed(ten_minutes_apart(), lifetime="soon")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"lifetime": "12h"}, "--lifetime 12h: these calls' providers have 5m, 1h"),
        ({"lifetime": "9" * 5000 + "h"}, "give it like 5m or 1h"),
        ({"lifetime": "1h", "provider": "vllm"}, "--lifetime 1h: these calls' providers have no lifetimes"),
        ({"provider": "nosuch"}, "--provider nosuch: no rules of it; there are rules of alibaba, anthropic,"),
    ],
)
def test_what_no_provider_has_is_refused(change: dict[str, str], reason: str) -> None:
    """A lifetime that nobody has would never run out in the simulation."""
    with pytest.raises(UsageError, match=reason):
        changed(ten_minutes_apart(), **change)


def test_a_lifetime_reaches_the_calls_whose_provider_has_it() -> None:
    """Two Claude calls ten minutes apart, then two of GPT-5.6 forty minutes apart, which has 30m and 12h, no 1h."""
    gpt = {"model": "gpt-5.6-sol", "messages": [{"role": "user", "content": words(2000)}]}
    others = [call(gpt, 9 + n, api=Api.CHAT, provider="openai", at=2400.0 * n, session="t") for n in range(2)]
    found = changed([*ten_minutes_apart(), *others], lifetime="1h")
    assert (found.before.read, found.after.read) == (0, 2000)
    assert "2 calls keep their lifetime: their providers have none of 1h" in found.notes


def test_a_provider_goes_by_its_name_in_any_case() -> None:
    assert changed(edited_system(), provider="SGLang") == changed(edited_system(), provider="sglang")


def test_marks_are_parsed_or_refused() -> None:
    assert parse_marks("system, last") == (MarkAt.SYSTEM, MarkAt.LAST)
    with pytest.raises(UsageError, match="give a list of tools, system, last, before-last"):
        parse_marks("somewhere")


def test_what_is_printed_and_written() -> None:
    found = changed(ten_minutes_apart(), lifetime="1h")
    printed = list(lines(found))
    assert printed[0] == "2 calls of 2 simulated"
    assert printed[3] == "Read                           0              ~0          ~2,000"
    assert printed[6] == "Cost                     $0.0153        ~$0.0153        ~$0.0129"
    assert printed[7] == "Change of the bill: ~−$0.0024 (simulated to simulated)"
    assert " ".join(line.strip() for line in printed[8:]) == figures.LEGEND
    assert max(map(len, printed)) <= 80
    assert (
        next(lines(replace(found, not_simulated=1))) == "2 calls of 3 simulated (the others have no rule or no prompt)"
    )
    assert result(found)["after"]["cost"] == "0.0129000"


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "whatif.json"
    command = ["whatif", str(SCENARIOS / "09-ttl-5m-gap.json"), "--lifetime", "1h", "--json", str(out)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "Change of the bill: ~−$" in done.output
    assert out.read_text().endswith("}\n")
    shown = CliRunner().invoke(app, ["rules", "anthropic", "--at", "2026-11-29"])
    assert shown.exit_code == 0
    assert "holds         from 2026-09-01 until further notice" in shown.output


def test_a_resumed_session_whose_file_comes_first(tmp_path: Path) -> None:
    """Its calls continue such as stand behind them in the input."""
    log = (
        next((SCENARIOS.parent / "claude-code" / "real-session").glob("*.jsonl")).read_text().splitlines(keepends=True)
    )
    early, late = tmp_path / "b.jsonl", tmp_path / "a.jsonl"
    early.write_text("".join(log[:100]))
    late.write_text("".join(log[100:]))

    calls = list(read_logs([str(late), str(early)]).calls())
    in_order = sorted(calls, key=lambda call: call.started_at or datetime.max)
    assert calls != in_order
    found, sorted_first = changed(calls, mend="all"), changed(in_order, mend="all")
    assert (found.before, found.after) == (sorted_first.before, sorted_first.after)
    outcome = CliRunner().invoke(app, ["whatif", str(tmp_path), "--lifetime", "1h"])
    assert (outcome.exit_code, outcome.exception) == (0, None)
