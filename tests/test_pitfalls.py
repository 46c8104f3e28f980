"""Sessions on which a simple detector errs: what it would say, and what is true, by hand."""

from decimal import Decimal
from typing import Any

import pytest

from call_builders import audited, call, messages, usage
from hitledger.results import Audit
from hitledger.segments import Api
from hitledger.types import CacheWrite, Call, Parameter, Usage

SYSTEM = "The clerk writes each arrival into the book, with the hour, the berth and the draught. " * 120
REPORT = "A long report on the harbour, its piers and the depth of water at each of them. " * 100
MARK = {"type": "ephemeral"}


def breaks(audit: Audit) -> list[tuple[int, str, int, int]]:
    """Index, cause, lost and rebilled tokens, in input order."""
    return sorted((b.index, b.cause, b.lost_tokens, b.rebilled_tokens) for b in audit.breaks)


def turns(number: int, name: str = "part", **extra: Any) -> dict[str, Any]:
    """A conversation of so many long messages; marks behind the system prompt and the last message."""
    body = messages(*[f"{name} {i}: {REPORT}" for i in range(number)], **extra)
    return {**body, "system": [{"type": "text", "text": extra.get("system", SYSTEM), "cache_control": MARK}]}


def chat(number: int, *, system: str = SYSTEM) -> dict[str, Any]:
    """The same for Chat Completions."""
    roles = ("user", "assistant")
    history = [{"role": roles[i % 2], "content": f"part {i}: {REPORT}"} for i in range(number)]
    return {"model": "gpt-5", "messages": [{"role": "system", "content": system}, *history]}


def chat_call(number: int, body: dict[str, Any], total: int, read: int | None) -> Call:
    return call(body, number, api=Api.CHAT, provider="openai", used=Usage(total - (read or 0), read, None, 10))


def test_a_read_some_tokens_short_is_no_alarm() -> None:
    """Pitfall 1: read(n) < read(n-1) + write(n-1) by 5 of 3,600 tokens is counted and not listed."""
    found = audited(call(turns(1), 0, used=usage(3, 0, 3600)), call(turns(3), 1, used=usage(3, 3595, 3005)))
    assert breaks(found) == []
    assert (found.totals.small_breaks, found.totals.small_lost_tokens) == (1, 5)


def test_a_read_that_never_falls_is_no_sign_of_health() -> None:
    """Pitfall 2: the read stays at 1,024 while the prompt grows by 3,000 a call: against what was readable, in steps
    of 128, 3,600 -> 3,584, 6,600 -> 6,528, 9,600 -> 9,600, the loss is 2,560, 5,504 and 8,576."""
    found = audited(*[chat_call(i, chat(2 * i + 1), 3600 + 3000 * i, 1024 if i else 0) for i in range(4)])
    assert [(index, lost) for index, _, lost, _ in breaks(found)] == [(1, 2560), (2, 5504), (3, 8576)]
    assert {cause for _, cause, _, _ in breaks(found)} == {"unexplained"}


def test_marks_that_stand_still_are_found_though_no_read_falls() -> None:
    """Pitfall 2 with marks: all is read that was written, and nearly all is paid again at each request."""

    def body(number: int, marked: int | None) -> dict[str, Any]:
        plain = turns(number)
        del plain["messages"][-1]["content"][-1]["cache_control"]
        if marked is not None:
            plain["messages"][marked]["content"][-1]["cache_control"] = MARK
        return plain

    on_system = [
        call(body(2 * i + 1, None), i, used=usage(1503 + 3000 * i, 2100 if i else 0, 0 if i else 2100))
        for i in range(5)
    ]
    found = audited(*on_system)
    assert breaks(found) == []
    assert [(f.index, f.cause, f.path) for f in found.findings] == [(2, "breakpoint.missing", "system[0].text")]
    on_first = [
        call(body(2 * i + 1, 0), i, used=usage(3 + 3000 * i, 3600 if i else 0, 0 if i else 3600)) for i in range(5)
    ]
    (finding,) = audited(*on_first).findings
    assert (finding.index, finding.cause, finding.path) == (3, "breakpoint.frozen", "messages[0].content[0].text")
    moving = [
        call(turns(2 * i + 1), i, used=usage(3, 600 + 3000 * i if i else 0, 3000 if i else 3600)) for i in range(5)
    ]
    assert audited(*moving).findings == ()


def test_a_change_behind_the_last_mark_costs_nothing() -> None:
    """Pitfall 3: the last message is another one each time, the mark stands in front of it."""

    def body(question: str) -> dict[str, Any]:
        found = turns(3)
        found["messages"].append({"role": "user", "content": question})
        return found

    found = audited(
        call(body("And pier one? " + REPORT), 0, used=usage(1500, 0, 6600)),
        call(body("What of the lighthouse? " + SYSTEM), 1, used=usage(2100, 6600, 0)),
    )
    assert breaks(found) == []


@pytest.mark.parametrize(
    ("ttl", "gap", "edited", "cause"),
    [
        ("5m", 301, False, "ttl.expired"),
        ("5m", 299, False, "unexplained"),
        ("1h", 600, False, "unexplained"),
        ("1h", 600, True, "system.volatile_text"),
        ("1h", 3601, False, "ttl.expired"),
        ("5m", 301, True, "system.volatile_text"),
    ],
)
def test_a_gap_is_held_against_the_lifetime_written_and_hides_no_edit(
    ttl: str, gap: float, edited: bool, cause: str
) -> None:
    """Pitfall 4."""
    later = turns(3, system=SYSTEM.replace("berth", "lock", 1) if edited else SYSTEM)
    found = audited(
        call(turns(1), 0, at=0, used=usage(3, 0, 3600, ttl=ttl)),
        call(later, 1, at=gap, used=usage(3, 0, 6600, ttl=ttl)),
    )
    assert breaks(found) == [(1, cause, 3600, 3600)]


def test_an_entry_that_another_agent_kept_alive_has_not_expired() -> None:
    """Peers' trap: the clock runs from the last read, whoever read. Main at 0 and 480 s, a helper in between at 240 s."""
    main = [call(turns(1), 0, at=0, used=usage(3, 0, 3600)), call(turns(3), 2, at=480, used=usage(3, 0, 6600))]
    helper = call(turns(1), 1, at=240, agent="helper", used=usage(3, 3600, 0))
    assert breaks(audited(*main)) == [(1, "ttl.expired", 3600, 3600)]
    assert breaks(audited(main[0], helper, main[1])) == [(2, "unexplained", 3600, 3600)]


def test_nothing_below_the_minimum_is_a_break() -> None:
    """Pitfall 5: 0 read and 0 written at 400 of 512 tokens."""
    found = audited(
        *[call(messages(*["x"] * (2 * i + 1), system="short. " * 50), i, used=usage(400 + i, 0, 0)) for i in range(3)]
    )
    assert breaks(found) == []
    assert {finding.cause for finding in found.findings} == {"breakpoint.below_minimum"}


def test_a_missing_field_is_not_zero() -> None:
    """Pitfall 6: reads are never reported. Of an append-only session nothing is said, its hit rate is unknown."""
    found = audited(*[chat_call(i, chat(2 * i + 1), 3600 + 3000 * i, None) for i in range(4)])
    assert breaks(found) == []
    assert found.totals.hit_rate is None
    assert found.totals.small_breaks == 0


def test_writes_count_in_the_hit_rate() -> None:
    """Pitfall 7: 3 uncached beside 3,600 read and 6,997 written is a hit rate of 33.96 %, not 99.9 %."""
    found = audited(call(turns(1), 0, used=usage(3, 0, 3600)), call(turns(3), 1, used=usage(3, 3600, 6997)))
    assert found.totals.hit_rate == pytest.approx(3600 / (3603 + 10600))


def test_the_route_comes_before_a_parameter_that_changed_with_it() -> None:
    """Pitfall 8: tool_choice was blamed, the account had rotated."""

    def account(name: str) -> tuple[Parameter, ...]:
        return (Parameter("account", "account", name),)

    found = audited(
        call(turns(1), 0, used=usage(3, 0, 3600), route=account("x")),
        call(turns(3, tool_choice={"type": "none"}), 1, used=usage(3, 0, 6600), route=account("y")),
    )
    assert breaks(found) == [(1, "routing.account", 3600, 3600)]


def test_going_back_to_an_earlier_model_reads_the_older_entry() -> None:
    """Pitfall 9: opus, sonnet, opus. The third call reads the 3,600 of the first and not the 6,600 of the second."""
    found = audited(
        call(turns(1), 0, used=usage(3, 0, 3600)),
        call({**turns(3), "model": "claude-sonnet-5"}, 1, used=usage(3, 0, 6600)),
        call(turns(5), 2, used=usage(3, 3600, 6000)),
    )
    assert breaks(found) == [(1, "model.changed", 3600, 3600)]
    assert found.calls[2].compared_with == "c0"


def test_a_parameter_set_back_explains_no_miss() -> None:
    """Pitfall 9 for parameters: thinking on and off again; by the rule the entry of the first call is still there."""
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    off, on = turns(1), turns(3, **thinking)
    read = audited(
        call(off, 0, used=usage(3, 0, 3600)),
        call(on, 1, used=usage(3, 2100, 4500)),
        call(turns(5), 2, used=usage(3, 6600, 3000)),
    )
    assert breaks(read) == [(1, "param.thinking", 1500, 1500)]
    missed = audited(
        call(turns(3), 0, used=usage(3, 0, 6600)),
        call(on, 1, used=usage(3, 2100, 4500)),
        call(turns(3), 2, used=usage(3, 0, 6600)),
    )
    assert breaks(missed) == [(1, "param.thinking", 4500, 4500), (2, "unexplained", 6600, 6600)]


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-haiku-4-5"])
@pytest.mark.parametrize("first", [True, False])
def test_a_request_for_a_title_is_another_chain(model: str, first: bool) -> None:
    """Pitfall 10: the title is asked for over the same first message, before or after the call that answers it."""
    title = {"model": model, "max_tokens": 9, "system": "Make a title.", "messages": turns(1)["messages"]}
    main = [call(turns(1), 0, used=usage(3, 0, 3600)), call(turns(3), 2, used=usage(3, 3600, 3000))]
    aside = call(title, 1, at=-5 if first else 5, used=usage(1520, 0, 0))
    calls = (aside, *main) if first else (main[0], aside, main[1])
    found = audited(*calls)
    assert breaks(found) == []
    assert found.calls[2].predecessor == "c0"
    assert found.calls[2].ideal_cache_read_tokens == 3600


def test_another_conversation_in_the_same_file_is_a_cold_start() -> None:
    """A log without session ids is one session. What the first conversation wrote is nothing that the second could
    have read, but for tools and system."""
    first = [
        call(turns(2 * i + 1), i, used=usage(3, 600 + 3000 * i if i else 0, 3000 if i else 3600)) for i in range(3)
    ]
    second = [
        call(turns(1, "fog"), 3, used=usage(3, 2100, 1500)),
        call(turns(3, "fog"), 4, used=usage(3, 3600, 3000)),
    ]
    back = call(turns(7), 5, at=300, used=usage(3, 9600, 3000))
    found = audited(*first, *second, back)
    assert breaks(found) == []
    assert [row.predecessor for row in found.calls] == [None, "c0", "c1", None, "c3", "c2"]


def test_another_question_behind_the_same_examples_is_no_loss() -> None:
    """A batch: the question is marked by habit, is new each time, and what the last one had written is of no use."""

    def body(question: str) -> dict[str, Any]:
        found = turns(2)
        found["messages"][-1]["content"][-1]["cache_control"] = MARK
        content = [{"type": "text", "text": question, "cache_control": MARK}]
        found["messages"].append({"role": "user", "content": content})
        return found

    questions = (
        "Pier one? " + "How deep is it there, and since when? " * 200,
        "Fog. " + "Which ships wait outside now? " * 250,
    )
    asked = [
        call(body(questions[0]), 0, used=usage(3, 0, 7000)),
        call(body(questions[1]), 1, used=usage(3, 5100, 2000)),
    ]
    assert breaks(audited(*asked)) == []
    missed = [asked[0], call(body(questions[1]), 1, used=usage(3, 0, 7000))]
    ((index, cause, lost, _),) = breaks(audited(*missed))
    assert (index, cause) == (1, "unexplained")
    assert 4000 < lost < 5500  # the examples, by our count of their text, and not the 7,000 with the question


def test_a_first_message_that_is_written_anew_each_time_is_still_found() -> None:
    """The twin of the two above: the clock stands in the first message, and the conversation goes on."""

    def body(number: int, minute: int) -> dict[str, Any]:
        found = turns(number)
        found["messages"][0]["content"][0]["text"] = f"It is 09:{minute:02} now.\n" + REPORT.replace(". ", ".\n")
        return found

    found = audited(call(body(1, 1), 0, used=usage(3, 0, 3600)), call(body(3, 2), 1, used=usage(3, 2100, 4500)))
    assert breaks(found) == [(1, "messages.edited_in_place", 1500, 1500)]
    assert found.breaks[0].char_offset == len("It is 09:0")


def test_going_back_and_asking_something_else_loses_nothing() -> None:
    """A rewind: call 2 goes on from call 0, and the 1,500 tokens of the question it replaces were never readable."""
    other = messages("a" + REPORT, "b", "d" + REPORT, system=SYSTEM)
    found = audited(
        call(messages("a" + REPORT, system=SYSTEM), 0, used=usage(3, 0, 4200)),
        call(messages("a" + REPORT, "b", "c" + REPORT, system=SYSTEM), 1, used=usage(3, 4200, 1510)),
        call(other, 2, used=usage(3, 4200, 1510)),
    )
    assert breaks(found) == []
    assert found.calls[2].predecessor == "c0"


def test_after_a_call_in_which_server_tools_ran_nothing_is_held_against_its_figures() -> None:
    """Its 20,686 tokens add up over two hidden calls; the next prompt has 14,640 in all."""
    ran = Usage(16, 13_637, (CacheWrite("5m", 7049),), 344, read_accumulated=True)
    found = audited(call(turns(1), 0, used=ran), call(turns(3), 1, used=usage(4, 14_210, 426)))
    assert breaks(found) == []


def test_two_lifetimes_in_one_request_are_two_prices() -> None:
    """Trap: all writes at one rate. 2,000 of 5m and 1,600 of 1h written again: 1h first, 1,600 x (10 - 0.5), then
    2,000 x (6.25 - 0.5), per million."""
    writes = (CacheWrite("1h", 1600), CacheWrite("5m", 2000))
    mixed = Usage(3, 0, writes, 10)
    found = audited(
        call(turns(1), 0, used=mixed),
        call(turns(3, system=SYSTEM.replace("berth", "lock", 1)), 1, used=mixed),
    )
    (row,) = found.breaks
    assert (row.lost_tokens, row.rebilled_tokens) == (3600, 3600)
    assert row.cost == Decimal("0.0267")
