"""OpenAI from GPT-5.6 on: what its guide says hits, and the breaks that it documents."""

from typing import Any

from msgspec.structs import replace

from call_builders import call, usage
from hitledger.audit import AuditOptions, audit_calls
from hitledger.logs.ingest import Ingest
from hitledger.results import Break
from hitledger.segments import Api
from hitledger.types import Call
from rule_builders import chat, expected, reads, words

SYSTEM = words(1500, "s")


def ask(number: int, *texts: str, **extra: Any) -> Call:
    return chat(number, *texts, provider="openai", model="gpt-5.6", system=SYSTEM, **extra)


def parts(number: int, *texts: str, marks: tuple[int, ...] = (), explicit: bool = False) -> Call:
    """One user message of several parts."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    for mark in marks:
        content[mark]["prompt_cache_breakpoint"] = {"mode": "explicit"}
    body: dict[str, Any] = {"model": "gpt-5.6", "messages": [{"role": "user", "content": content}]}
    if explicit:
        body["prompt_cache_options"] = {"mode": "explicit"}
    return call(body, number, api=Api.CHAT, provider="openai")


def test_new_messages_behind_the_old_ones_hit_the_exact_end() -> None:
    """1,507 tokens: no step of 128."""
    assert reads([ask(0, words(7)), ask(1, words(7), words(30), words(5))]) == [0, 1507]


def test_a_shared_head_with_another_question_never_hits() -> None:
    assert reads([ask(0, words(7, "x")), ask(1, words(7, "y")), ask(2, words(7, "z"))]) == [0, 0, 0]


def test_extending_the_last_message_loses_its_end() -> None:
    assert reads([parts(0, words(1500)), parts(1, words(1500), words(100, "more"))]) == [0, 0]


def test_switching_to_explicit_without_a_mark_at_the_old_end_loses_it() -> None:
    first = parts(0, words(1500))
    assert reads([first, parts(1, words(1500), words(9, "q"), marks=(1,), explicit=True)]) == [0, 0]
    assert reads([first, parts(1, words(1500), words(9, "q"), marks=(0, 1), explicit=True)]) == [0, 1500]


def test_explicit_without_marks_caches_and_writes_nothing() -> None:
    found = expected([parts(n, words(1500), explicit=True) for n in range(2)])
    assert [(one.forecast.read, one.forecast.writes) for one in found if one] == [(0, ()), (0, ())]


def test_writes_are_charged_once_and_for_the_default_lifetime() -> None:
    found = expected([ask(0, words(7)), ask(1, words(7), words(30), words(5))])
    assert [one.forecast.writes for one in found if one] == [(("30m", 1507),), (("30m", 35),)]


def test_a_later_developer_message_is_no_boundary() -> None:
    """An entry ends with the question, so another developer note behind it does not matter, nor does it end one."""
    note = {"role": "developer", "content": words(40, "n")}
    head = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": words(7)}]
    first = call({"model": "gpt-5.6", "messages": head}, 0, api=Api.CHAT, provider="openai")
    second = call({"model": "gpt-5.6", "messages": [*head, note]}, 1, api=Api.CHAT, provider="openai")
    third = call({"model": "gpt-5.6", "messages": [*head, note, head[1]]}, 2, api=Api.CHAT, provider="openai")
    assert reads([first, second, third]) == [0, 1507, 1507]


def test_changed_effort_or_format_loses_all() -> None:
    first = ask(0, words(7))
    assert reads([first, ask(1, words(7), reasoning_effort="high")]) == [0, 0]
    assert reads([first, ask(1, words(7), response_format={"type": "json_object"})]) == [0, 0]


def test_naming_a_default_loses_nothing() -> None:
    for named in ({"service_tier": "auto"}, {"verbosity": "medium"}, {"response_format": {"type": "text"}}):
        assert reads([ask(0, words(7)), ask(1, words(7), words(30), words(5), **named)]) == [0, 1507]


def test_twenty_earlier_ends_are_looked_at() -> None:
    def long(turns: int) -> list[str]:
        return [word for i in range(turns) for word in (words(10, f"u{i}"), words(10, f"a{i}"))][:-1]

    assert reads([ask(0, *long(1)), ask(1, *long(21))]) == [0, 1510]
    assert reads([ask(0, *long(1)), ask(1, *long(22))]) == [0, 0]


def test_only_a_developer_block_in_front_is_looked_at_from_everywhere() -> None:
    """Twenty-one ends on: a first question is no such block, what the developer said is."""
    later = [word for i in range(21) for word in (words(5, f"a{i}"), words(5, f"u{i}"))]
    for system, found in (("", 0), (SYSTEM, 1500)):
        given = {"provider": "openai", "model": "gpt-5.6", "system": system}
        texts = () if system else (words(1500),)
        assert reads([chat(0, *texts, **given), chat(1, *(texts or (words(9),)), *later, **given)]) == [0, found]


def test_positions_rest_on_the_implicit_end_where_explicit_marks_stand_in_front() -> None:
    """Read + written is the prompt up to the end written last, not up to the last explicit mark."""
    first = replace(parts(0, words(1500), words(100, "q"), marks=(0,)), usage=usage(0, 0, 1600, ttl="30m"))
    assert reads([first, parts(1, words(1500), words(9, "other"), marks=(0,), explicit=True)]) == [0, 1500]


def judged(first: Call, second: Call) -> Break:
    """The break of a second call that read nothing."""
    total = sum(len((segment.text or "").split()) for segment in second.prompt.segments())
    calls = [replace(first, usage=usage(0, 0, 1510, ttl="30m")), replace(second, usage=usage(total, 0))]
    (found,) = audit_calls(calls, Ingest(), AuditOptions()).breaks
    return found


def test_more_than_twenty_ends_back_is_beyond_the_look_back() -> None:
    texts = [word for i in range(30) for word in (words(10, f"u{i}"), words(10, f"a{i}"))][:-1]
    found = judged(ask(0, *texts[:1]), ask(1, *texts))
    assert (found.cause, found.lost_tokens) == ("breakpoint.beyond_lookback", 1510)
    assert found.note == "the entry is the end of a message 30 back, a lookup goes back over 20"


def test_turning_the_implicit_mark_off_and_setting_none_drops_the_marks() -> None:
    later = ask(1, words(10, "u0"), words(10, "a"), words(5), prompt_cache_options={"mode": "explicit"})
    found = judged(ask(0, words(10, "u0")), later)
    assert (found.cause, found.path) == ("client.marker_dropped", "prompt_cache_options")
