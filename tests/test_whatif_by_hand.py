"""What-if money and hit rates against sums made by hand: pauses, one cause of two, another model, shrinking twice.

One word is one token. Sonnet 4.5: input $3, reads $0.30, writes $3.75 (5m) and $6 (1h), output $15 per million.
"""

from decimal import Decimal

from hitledger.types import Call
from rule_builders import words
from test_whatif import changed, turn, usd

ANSWERS = 10  # tokens of output, each call


def growing(*ats: float) -> list[Call]:
    """1,000 words of system prompt and 500 a message: prompts of 1,500, 2,500, 3,500, … tokens at these seconds."""
    texts = tuple(words(500, f"m{i}") for i in range(2 * len(ats)))
    return [
        turn(n, texts[: 2 * n + 1], 1500 + 1000 * n, system=words(1000, "system"), at=at) for n, at in enumerate(ats)
    ]


def test_an_hour_pays_where_pauses_are_shorter_than_it() -> None:
    """Pauses of 20 minutes: by 5m each call writes all, by 1h only what is new."""
    found = changed(growing(0, 1200, 2400, 3600), lifetime="1h")
    assert found.before.cost == usd(five=1500 + 2500 + 3500 + 4500, output=4 * ANSWERS)
    assert found.after.cost == usd(hour=1500 + 1000 + 1000 + 1000, read=1500 + 2500 + 3500, output=4 * ANSWERS)
    assert (found.before.hit_rate, found.after.hit_rate) == (0.0, 7500 / 12_000)


def test_an_hour_costs_more_where_one_pause_is_short_and_one_too_long() -> None:
    """A minute, 20 minutes, two hours: the second read is won, the last is lost either way, every write costs $6."""
    found = changed(growing(0, 60, 1260, 8460), lifetime="1h")
    before = usd(five=1500 + 1000 + 3500 + 4500, read=1500, output=4 * ANSWERS)
    after = usd(hour=1500 + 1000 + 1000 + 4500, read=1500 + 2500, output=4 * ANSWERS)
    assert (found.before.cost, found.after.cost) == (before, after)
    assert after - before == Decimal("0.009375")
    assert (found.before.hit_rate, found.after.hit_rate) == (1500 / 12_000, 4000 / 12_000)


def two_causes() -> list[Call]:
    """The system prompt names another day in the second call; the third edits the first message."""
    monday, tuesday = (f"{day} {words(1999)}" for day in ("monday", "tuesday"))
    return [
        turn(0, ("q1",), 2001, system=monday),
        turn(1, ("q1", "a1", "q2"), 2003, system=tuesday),
        turn(2, ("edited", "a1", "q2", "a2", "q3"), 2005, system=tuesday),
        turn(3, ("edited", "a1", "q2", "a2", "q3", "a3", "q4"), 2, 2005, system=tuesday),
    ]


def test_one_cause_of_two_is_mended() -> None:
    """As it is: 2,001 + 2,003 + 2,005 + 2 written, 2,005 read. Mended, a call reads what the one before it left."""
    system = changed(two_causes(), mend="system.volatile_time")
    edit = changed(two_causes(), mend="messages.edited_in_place")
    both = changed(two_causes(), mend="all")
    as_it_is = usd(five=2001 + 2003 + 2005 + 2, read=2005, output=4 * ANSWERS)
    assert {one.before.cost for one in (system, edit, both)} == {as_it_is}
    assert system.after.cost == usd(five=2001 + 2 + 2005 + 2, read=2001 + 2005, output=4 * ANSWERS)
    assert edit.after.cost == usd(five=2001 + 2003 + 2 + 2, read=2003 + 2005, output=4 * ANSWERS)
    assert both.after.cost == usd(five=2001 + 2 + 2 + 2, read=2001 + 2003 + 2005, output=4 * ANSWERS)
    assert (both.before.hit_rate, both.after.hit_rate) == (2005 / 8016, 6009 / 8016)


def test_another_model_has_its_own_minimum_and_prices() -> None:
    """1,600, 3,200 and 4,800 tokens. Opus 4.5 caches from 4,096 on and costs $5, $0.50, $6.25 and $25."""
    calls = [
        turn(n, tuple(words(800, f"m{i}") for i in range(2 * n + 1)), 1600, 1600 * n, system=words(800))
        for n in range(3)
    ]
    found = changed(calls, model="claude-opus-4-5")
    assert found.before.cost == usd(five=4800, read=1600 + 3200, output=3 * ANSWERS)
    assert (found.after.read, found.after.written) == (0, 4800)
    assert found.after.cost == (Decimal(5) * 4800 + Decimal("6.25") * 4800 + 25 * 3 * ANSWERS) / 1_000_000
    assert (found.before.hit_rate, found.after.hit_rate) == (0.5, 0.0)


def test_a_prompt_that_shrinks_twice_keeps_both_cuts_when_mended() -> None:
    """3,001 tokens, cut to 2,003, cut to 1,205, gone on to 1,207. Nothing cut: 3,001, 3,003, 3,005, 3,007."""
    long, short, tiny = words(2999, "long"), words(1999, "short"), words(1199, "tiny")
    calls = [
        turn(0, (f"{long} q1",), 3001, system="s"),
        turn(1, (f"{short} q1", "a1", "q2"), 2003, system="s"),
        turn(2, (f"{tiny} q1", "a1", "q2", "a2", "q3"), 1205, system="s"),
        turn(3, (f"{tiny} q1", "a1", "q2", "a2", "q3", "a3", "q4"), 2, 1205, system="s"),
    ]
    found = changed(calls, mend="all")
    assert found.before.cost == usd(five=3001 + 2003 + 1205 + 2, read=1205, output=4 * ANSWERS)
    assert found.after.input_tokens == 3001 + 3003 + 3005 + 3007
    assert found.after.cost == usd(five=3001 + 2 + 2 + 2, read=3001 + 3003 + 3005, output=4 * ANSWERS)


def test_what_was_cut_before_a_compaction_is_not_carried_beyond_it() -> None:
    """The cut is mended in the second call; the summary of 1,100 tokens starts anew and is written either way."""
    long, short, summary = words(2999, "long"), words(1499, "short"), words(1099, "summary")
    calls = [
        turn(0, (f"{long} q1",), 3001, system="s"),
        turn(1, (f"{short} q1", "a1", "q2"), 1503, system="s"),
        turn(2, (summary,), 1100, system="s", events=("compaction",)),
        turn(3, (summary, "a", "q"), 2, 1100, system="s"),
    ]
    found = changed(calls, mend="all")
    assert found.after.input_tokens == 3001 + 3003 + 1100 + 1102
    assert found.after.cost == usd(five=3001 + 2 + 1100 + 2, read=3001 + 1100, output=4 * ANSWERS)


def test_two_compactions_add_up_what_they_keep_out() -> None:
    """5,001 to 2,000, then 2,002 to 1,500: calls behind the first are 3,001 shorter, behind the second 3,503."""
    one, two = words(1999, "one"), words(1499, "two")
    calls = [
        turn(0, (words(5000, "long"),), 5001, system="s"),
        turn(1, (one,), 2000, system="s", events=("compaction",)),
        turn(2, (one, "a", "q"), 2, 2000, system="s"),
        turn(3, (two,), 1500, system="s", events=("compaction",)),
        turn(4, (two, "a", "q"), 2, 1500, system="s"),
    ]
    apart = changed(calls, mend="all").compactions
    assert (apart.calls, apart.rewritten, apart.saved_tokens) == (2, 2000 + 1500, 3001 + 3503)
    assert apart.cost == usd(five=3500) - usd(read=3500)
    assert apart.saved == usd(read=3001 + 3503)
