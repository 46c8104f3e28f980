"""For each call: what its predecessor left readable, what was read, what was lost, and why."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from hitledger.branches import left_in_front
from hitledger.causes.case import Case, Confidence, Diagnosis, changes
from hitledger.causes.decide import UNEXPLAINED, decide, unexplained
from hitledger.causes.rendering import Rerender, compare
from hitledger.causes.timing import expired, fanned_out
from hitledger.chains import Link, gap_seconds
from hitledger.continuation import branches
from hitledger.errors import UsageError
from hitledger.expect import Expectation, lifetime_of, ordered, slack_of
from hitledger.policies.cache import Obstacle
from hitledger.prefix import APPEND_ONLY, Difference, first_difference
from hitledger.tokens import TokenCounter
from hitledger.types import Call, Prompt, Usage

NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


@dataclass(frozen=True, slots=True)
class MinLoss:
    """From which loss on a break is listed: either of the two is enough."""

    tokens: int = 1000
    share: float = 0.10  # of what was readable

    def reached(self, lost: int, readable: int) -> bool:
        """Whether a loss is listed as a break of its own."""
        return lost > 0 and (lost >= self.tokens or lost >= self.share * readable)


def parse_min_loss(text: str) -> MinLoss:
    """`1000`, `5%` or `1000,5%`. Raises UsageError."""
    tokens, share = None, None
    for part in text.split(","):
        number = part.strip().removesuffix("%")
        if not NUMBER.fullmatch(number) or text.count(",") > 1:
            raise UsageError(f"--min-loss {text}: give tokens, a percentage, or both, like 1000,10%")
        if part.strip().endswith("%"):
            share = float(number) / 100
        else:
            tokens = int(float(number))
    never = 2.0  # more than all that was readable
    return MinLoss(tokens if tokens is not None else 2**62, share if share is not None else never)


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What became of what the predecessor left readable. `diagnosis` None: nothing was lost, or too little to list."""

    readable_before: int | None
    read: int | None  # reported, or expected where nothing was reported
    lost: int = 0
    rebilled: int = 0
    listed: bool = False
    diagnosis: Diagnosis | None = None
    difference: Difference | None = None


class _Loss(msgspec.Struct, frozen=True, gc=False):
    """A loss that is listed if it has a cause."""

    link: Link
    before: Call
    readable: int
    read: int
    rerender: Rerender | None


class Judge:
    """Judges the calls of one run. Calls, links and expectations stand in input order."""

    def __init__(
        self,
        links: Sequence[Link],
        expectations: Sequence[Expectation | None],
        counter: TokenCounter,
        min_loss: MinLoss,
    ) -> None:
        self.links = links
        self.calls = [link.call for link in links]
        self.expectations = expectations
        self.counter = counter
        self.min_loss = min_loss

    def all(self, over: Callable[[Iterable[Link]], Iterable[Link]] = iter) -> list[Verdict]:
        """A verdict for each call: of all calls what was lost, then of the losses to be listed why.

        `over` is told of each call, for who watches.
        """
        found = [self._one(link) for link in over(self.links)]
        return [self._diagnosed(one) if isinstance(one, _Loss) else one for one in found]

    def _one(self, link: Link) -> Verdict | _Loss:
        """A call against its predecessor; a cold start only against a parallel one that was writing the same."""
        expectation = self.expectations[link.index]
        read = read_of(link.call, expectation)
        if read is None or (link.call.usage is not None and link.call.usage.read_accumulated):
            return Verdict(None, read)
        if link.predecessor is None:
            return self._cold(link, expectation, read)
        before, earlier = self.calls[link.predecessor], self.expectations[link.predecessor]
        readable = left_by(before, earlier)
        if readable is None:
            return Verdict(None, read)
        if earlier is not None and expectation is not None and branches(before, link.call):
            readable = min(readable, left_in_front(earlier, expectation))
        rerender = compare(before, link.call, self.counter) if holds_generated(before) else None
        if rerender is not None:
            readable, read = rerender.held, rerender.common
        lost = max(0, readable - read)
        if not lost or self._returned(link, expectation, read):
            return Verdict(readable, read)
        if self.min_loss.reached(lost, readable):
            return _Loss(link, before, readable, read, rerender)
        if unreported(link.call):  # a small difference of two estimates is no loss
            lost = 0
        return Verdict(readable, read, lost, rebilled_of(link.call, lost, read))

    def _cold(self, link: Link, expectation: Expectation | None, read: int) -> Verdict:
        blocked = expectation.blocked if expectation is not None else None
        if blocked is None or blocked.obstacle is not Obstacle.NOT_YET_VISIBLE:
            return Verdict(None, read)
        lost = max(0, blocked.tokens - read)
        if not self.min_loss.reached(lost, blocked.tokens):
            return Verdict(blocked.tokens, read, lost, rebilled_of(link.call, lost, read))
        return Verdict(blocked.tokens, read, lost, rebilled_of(link.call, lost, read), True, fanned_out())

    def _returned(self, link: Link, expectation: Expectation | None, read: int) -> bool:
        """Back at an earlier model, account or route: the older entry explains the read."""
        before = self.expectations[link.predecessor] if link.predecessor is not None else None
        if expectation is None or before is None or before.key == expectation.key or not expectation.forecast.read:
            return False
        return read >= expectation.forecast.read - slack_of(expectation.forecast.read)

    def _diagnosed(self, loss: _Loss) -> Verdict:
        link, readable, read = loss.link, loss.readable, loss.read
        case = self._case(loss)
        diagnosis = decide(case, loss.rerender)
        rule = case.rule
        rebilled = rebilled_of(link.call, case.lost, read)
        # Nothing is promised there and no lifetime is published: a miss alone is no verdict.
        no_promise = rule is not None and rule.best_effort and case.ttl_seconds is None
        if call_without_evidence(link.call, diagnosis) or (diagnosis is UNEXPLAINED and no_promise):
            return Verdict(readable, read, case.lost, rebilled)
        if diagnosis is UNEXPLAINED:
            diagnosis = unexplained(link.call.evidence)
        diagnosis = _also_late(case, diagnosis)
        difference = case.difference
        if diagnosis.cause == "server.thinking_stripped" and not case.effective.append_only:
            difference = case.effective
        return Verdict(readable, read, case.lost, rebilled, True, diagnosis, difference)

    def _case(self, loss: _Loss) -> Case:
        link, before, call = loss.link, loss.before, loss.link.call
        expectation = self.expectations[link.index]
        earlier = self.expectations[link.predecessor] if link.predecessor is not None else None
        rule = expectation.rule if expectation is not None else None
        old, new = as_sent(before, earlier), as_sent(call, expectation)
        used_before, used = old, new
        if earlier is not None and expectation is not None:
            used_before, used = earlier.view.prompt, expectation.view.prompt
        difference = first_difference(old, new)
        return Case(
            call=call,
            before=before,
            rule=rule,
            expectation=expectation,
            prompt_before=old,
            prompt=new,
            used_before=used_before,
            used=used,
            difference=difference,
            # Where this call branches off, what differs is another question and no edit.
            boundary=difference.index if branches(before, call) else boundary_of(earlier, old),
            parameters=changes(before.parameters, call.parameters),
            route=changes(before.route, call.route),
            readable_before=loss.readable,
            read=loss.read,
            gap_seconds=gap_seconds(link, self.calls),
            ttl_seconds=ttl_seconds(before, earlier),
            side=link.side,
        )


def _also_late(case: Case, diagnosis: Diagnosis) -> Diagnosis:
    """A change after the lifetime: mending it alone would not have kept the entry, and that is said."""
    late = expired(case)
    if late is None or late.cause == diagnosis.cause:
        return diagnosis
    note = f"the entry had likely expired as well: {late.note}"
    return msgspec.structs.replace(diagnosis, note=f"{diagnosis.note}; {note}" if diagnosis.note else note)


def call_without_evidence(call: Call, diagnosis: Diagnosis) -> bool:
    """Nothing was reported, so only what the request itself shows can be called a break."""
    return unreported(call) and diagnosis.confidence is Confidence.POSSIBLE


def unreported(call: Call) -> bool:
    """Whether the log does not say what was read."""
    return call.usage is None or call.usage.cache_read_tokens is None


def as_sent(call: Call, expectation: Expectation | None) -> Prompt:
    """The prompt as sent, in the order in which the rule lays it out."""
    return call.prompt if expectation is None else ordered(call, expectation.rule)


def read_of(call: Call, expectation: Expectation | None) -> int | None:
    """Tokens read from the cache: reported; where the log reports nothing, expected by the rule."""
    if call.status >= 400:
        return None
    if call.usage is not None and call.usage.cache_read_tokens is not None:
        return call.usage.cache_read_tokens
    return expectation.forecast.read if expectation is not None else None


def left_by(call: Call, expectation: Expectation | None) -> int | None:
    """Tokens that a call left readable: its read + write where writes are reported, else by the rule; None unknown.

    Unknown too where server tools ran: its figures add up over hidden calls and are those of no one prompt.
    """
    if call.usage is not None and call.usage.read_accumulated:
        return None
    if expectation is None:
        return _without_rule(call.usage)
    usage = call.usage
    marked = expectation.rule.algorithm.writes_at_marks
    if marked and usage is not None and usage.cache_read_tokens is not None and usage.cache_writes is not None:
        return usage.cache_read_tokens + (usage.cache_write_tokens or 0)
    if holds_generated(call) and usage is not None:
        return usage.input_tokens + (usage.output_tokens or 0)
    return expectation.left


def _without_rule(usage: Usage | None) -> int | None:
    """No rule is known: only a provider that reports writes says what it left."""
    if usage is None or usage.cache_read_tokens is None or not usage.cache_write_tokens:
        return None
    return usage.cache_read_tokens + usage.cache_write_tokens


def holds_generated(call: Call) -> bool:
    """Whether the engine keeps generated tokens too."""
    return call.engine is not None and call.engine.caches_generated_tokens


def rebilled_of(call: Call, lost: int, read: int) -> int:
    """Lost tokens that this call really computed again: no more than it had left to compute."""
    total = call.input_tokens
    return lost if total is None else min(lost, max(0, total - read))


def boundary_of(expectation: Expectation | None, prompt: Prompt) -> int:
    """Segments of a prompt behind which a later change costs nothing: its last written mark, or its end."""
    if expectation is None or not expectation.rule.algorithm.writes_at_marks:
        return len(prompt)
    marks = expectation.view.written
    # Marks are counted in the effective prompt; where thinking was dropped from it the whole prompt counts.
    return marks[-1].position if marks and len(expectation.view.prompt) == len(prompt) else len(prompt)


def ttl_seconds(call: Call, expectation: Expectation | None) -> int | None:
    """Lifetime in seconds of what a call left; None where it is not published or nothing is known."""
    if expectation is None:
        return None
    marks = expectation.view.written
    ttl = lifetime_of(call) or (marks[-1].ttl if marks else expectation.rule.default_lifetime)
    return expectation.rule.seconds(ttl)


def place_of(verdict: Verdict) -> str:
    """JSON path of the first changed value."""
    if verdict.diagnosis is not None and verdict.diagnosis.path:
        return verdict.diagnosis.path
    return verdict.difference.path if verdict.difference is not None else APPEND_ONLY
