"""Where ideal − reported went: the parts sum to it on any log, and none is negative."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from call_builders import call, messages, usage
from hitledger.audit import AuditOptions, audit_calls
from hitledger.logs.ingest import Ingest
from hitledger.results import Attribution
from rule_builders import words

texts = st.lists(st.sampled_from(["a", "b", words(700), words(2000), words(9000)]), min_size=1, max_size=4)
figures = st.integers(0, 12_000)


@st.composite
def sessions(draw: st.DrawFn) -> list[object]:
    """Calls whose prompts grow, change, come back or lose their marks, with whatever usage a log may claim."""
    calls = []
    at = 0.0
    for number in range(draw(st.integers(1, 5))):
        at += draw(st.sampled_from([1.0, 200.0, 400.0, 4000.0]))
        system = draw(st.sampled_from(["one", "two", words(1500)]))
        used = draw(st.none() | st.builds(usage, figures, st.none() | figures, figures))
        body = messages(*draw(texts), system=system)
        calls.append(call(body, number, at=at, used=used, events=draw(st.sampled_from([(), ("user_turn",)]))))
    return calls


def parts(attribution: Attribution) -> list[int]:
    return list(msgspec.structs.astuple(attribution))


@settings(deadline=None, max_examples=60)
@given(sessions())
def test_the_parts_sum_to_ideal_minus_reported(calls: list[object]) -> None:
    for row in audit_calls(calls, Ingest(), AuditOptions(segments=False)).calls:  # type: ignore[arg-type]
        if row.ideal_cache_read_tokens is None or row.attribution is None:
            assert row.attribution is None or not sum(parts(row.attribution))
            continue
        read = row.cache_read_tokens if row.cache_read_tokens is not None else row.expected_cache_read_tokens
        assert read is not None
        assert min(parts(row.attribution)) >= 0
        assert sum(parts(row.attribution)) == max(0, row.ideal_cache_read_tokens - read)


def test_an_attribution_has_the_parts_of_the_ledger() -> None:
    names = Attribution.__struct_fields__
    assert names == ("client", "expired", "below_minimum", "beyond_lookback", "server", "unexplained")
