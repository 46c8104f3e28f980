"""Problems that are no break: refused marks, prompts below the minimum, marks that are missing or buy nothing."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from hitledger.causes.case import Confidence, Diagnosis
from hitledger.causes.catalogue import fix_of
from hitledger.causes.marks import below_minimum, marked, refused
from hitledger.chains import Link
from hitledger.expect import Expectation, lifetime_of
from hitledger.lifetimes import seconds_of
from hitledger.policies.rule import Algorithm
from hitledger.policies.rules import Rules
from hitledger.prefix import APPEND_ONLY, common_segments
from hitledger.results import Finding
from hitledger.types import Call, Evidence, Tier

EXACT = Evidence.EXACT  # attributes of an enumeration are found slowly
WRITES_BEFORE_JUDGED = 3  # one-off calls that write what nobody reads
STILL_BEFORE_JUDGED = 2  # calls in a row whose last mark stands still


def findings_of(
    links: Sequence[Link], expectations: Sequence[Expectation | None], broken: frozenset[int], rules: Rules
) -> tuple[Finding, ...]:
    """All findings, in input order. What a call that is a break lacks besides is said with the break."""
    found: list[tuple[Link, Diagnosis]] = []
    requests = [link for link in links if link.call.evidence is EXACT or link.call.status >= 400]
    for link in requests:
        if link.index not in broken:
            found += [(link, diagnosis) for diagnosis in _of_call(link.call, expectations[link.index], rules)]
    if requests:  # a transcript does not show its marks
        found += _without_marks(links, expectations)
        found += _never_read(links, expectations)
        found += _standing_marks(links, expectations)
    found += _downgrades(links)
    return tuple(
        Finding(
            call=link.call.id,
            index=link.index,
            cause=diagnosis.cause,
            confidence=diagnosis.confidence,
            path=diagnosis.path,
            note=diagnosis.note,
            fix=fix_of(diagnosis.cause),
        )
        for link, diagnosis in sorted(found, key=lambda item: (item[0].index, item[1].cause))
    )


def _of_call(call: Call, expectation: Expectation | None, rules: Rules) -> Iterator[Diagnosis]:
    if call.status >= 400:
        rule = rules.pick(call)
        found = refused(call, rule.max_breakpoints) if rule is not None else None
        if found is not None:
            yield found
        return
    if expectation is None or call.evidence is not Evidence.EXACT or not expectation.view.marks:
        return
    tokens = expectation.view.tokens_at(expectation.view.marks[-1].position)
    found = below_minimum(call, tokens, expectation.rule.minimum(call.model))
    if found is not None:
        yield found


def _without_marks(
    links: Sequence[Link], expectations: Sequence[Expectation | None]
) -> Iterator[tuple[Link, Diagnosis]]:
    """A chain of full prompts, long enough to be cached and growing, none of which carries a mark."""
    for link in links:
        expectation = expectations[link.index]
        if link.predecessor is None or expectation is None or link.call.evidence is not Evidence.EXACT:
            continue
        before = links[link.predecessor]
        if expectation.rule.algorithm is not Algorithm.BREAKPOINTS or marked(link.call) or marked(before.call):
            continue
        total, minimum = link.call.input_tokens, expectation.rule.minimum(link.call.model)
        if total is not None and total >= minimum and before.predecessor is None:
            note = f"{total:,} prompt tokens and no cache mark in this session's requests"
            yield link, Diagnosis("breakpoint.missing", Confidence.LIKELY, "messages", note)


def _standing_marks(
    links: Sequence[Link], expectations: Sequence[Expectation | None]
) -> Iterator[tuple[Link, Diagnosis]]:
    """The last mark stands still while what is behind it grows: the read stays where it was, all else is paid again.

    One finding a chain, at the call that sends again what two calls before it had sent behind the same mark.
    """
    still: dict[int, int] = {}  # calls in a row whose last mark stands where the predecessor's stood
    for link in links:
        before = expectations[link.predecessor] if link.predecessor is not None else None
        behind = _behind_standing_mark(before, expectations[link.index])
        if link.predecessor is None or behind is None:
            continue
        still[link.index] = still.get(link.predecessor, 0) + 1
        if still[link.index] == STILL_BEFORE_JUDGED:
            mark = marked(link.call)[-1]
            cause = "breakpoint.frozen" if mark.tier is Tier.MESSAGES else "breakpoint.missing"
            note = f"about {behind:,} tokens behind the last mark were sent before and are paid in full at each request"
            yield link, Diagnosis(cause, Confidence.LIKELY, mark.path, note)


def _behind_standing_mark(before: Expectation | None, now: Expectation | None) -> int | None:
    """Tokens behind the last mark that both calls sent; None where the mark moved on or they are too few to cache."""
    if before is None or now is None or not before.view.marks or not now.view.marks:
        return None
    if now.rule.algorithm is not Algorithm.BREAKPOINTS or now.view.call.evidence is not Evidence.EXACT:
        return None
    position = now.view.marks[-1].position
    if before.view.marks[-1].position != position or before.view.length >= now.view.length:
        return None
    shared = common_segments(before.view.prompt, now.view.prompt)
    behind = now.view.tokens_at(max(shared, position)) - now.view.tokens_at(position)
    return behind if behind >= now.rule.minimum(now.view.call.model) else None


def _never_read(links: Sequence[Link], expectations: Sequence[Expectation | None]) -> Iterator[tuple[Link, Diagnosis]]:
    """One-off calls that each write and from whose entries nobody ever reads."""
    sources = {e.forecast.source for e in expectations if e is not None and e.forecast.source is not None}
    continued = {link.predecessor for link in links}
    wasted: dict[tuple[str, ...], list[Link]] = defaultdict(list)
    for link in links:
        expectation, usage = expectations[link.index], link.call.usage
        if expectation is None or usage is None or link.call.evidence is not Evidence.EXACT:
            continue
        alone = link.predecessor is None and link.index not in continued and link.index not in sources
        if alone and usage.cache_write_tokens and usage.cache_read_tokens == 0 and expectation.blocked is None:
            wasted[expectation.key].append(link)
    for group in wasted.values():
        if len(group) >= WRITES_BEFORE_JUDGED:
            tokens = sum(link.call.usage.cache_write_tokens or 0 for link in group if link.call.usage)
            note = f"{len(group)} calls wrote {tokens:,} tokens that no call reads"
            last = marked(group[0].call)
            path = last[-1].path if last else APPEND_ONLY
            yield group[0], Diagnosis("breakpoint.on_volatile_tail", Confidence.LIKELY, path, note)


def _downgrades(links: Sequence[Link]) -> Iterator[tuple[Link, Diagnosis]]:
    """Writes move to a shorter lifetime within a chain."""
    lifetimes = [lifetime_of(link.call) for link in links]
    if len({lifetime for lifetime in lifetimes if lifetime}) < 2:  # as in most logs
        return
    for link, now in zip(links, lifetimes, strict=True):
        before = lifetimes[link.predecessor] if link.predecessor is not None else None
        if before and now and before != now and seconds_of(now) < seconds_of(before):
            note = f"written for {before} before, for {now} from here on"
            yield link, Diagnosis("ttl.tier_downgrade", Confidence.CERTAIN, "usage", note)
