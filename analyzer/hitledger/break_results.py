"""A listed loss as the row that goes into the result."""

from dataclasses import dataclass

from hitledger.causes.catalogue import fix_of
from hitledger.chains import Link
from hitledger.expect import Expectation
from hitledger.money import BreakCost
from hitledger.redact import redact, window
from hitledger.results import Break
from hitledger.types import Certainty
from hitledger.verdicts import Verdict, place_of

SHOWN_TEXT = 2000  # characters on either side of a difference with --show-text
MAX_VALUE = 100_000  # of a changed value that is looked at for secrets

# The provider's own reasons and the families of ours that agree with them.
REASON_FAMILIES = {
    "model_changed": ("model.", "param.speed", "routing.provider_flip"),
    "system_changed": ("system.",),
    "tools_changed": ("tools.",),
    "messages_changed": ("messages.", "server.", "template."),
    "input_changed": ("messages.", "system."),
    "context_compacted": ("messages.compacted",),
    "prompt_cache_key_changed": ("routing.key_changed",),
    "service_tier_changed": ("param.service_tier",),
    "text_format_changed": ("param.response_format",),
    "reasoning_effort_changed": ("param.effort",),
    "verbosity_changed": ("param.verbosity",),
    "previous_message_not_found": ("ttl.", "routing.", "unexplained", "concurrency."),
    "unavailable": ("param.", "unexplained"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What of the prompts may be shown."""

    text: bool = False
    secrets: bool = False


def break_of(
    link: Link,
    verdict: Verdict,
    expectation: Expectation | None,
    cost: BreakCost,
    shown: Shown,
    located: bool = True,
) -> Break | None:
    """The listed loss of a call; None where nothing is listed. `located`: count the tokens in front of the place."""
    diagnosis = verdict.diagnosis
    if diagnosis is None or verdict.readable_before is None:
        return None
    call, difference = link.call, verdict.difference
    own_value = diagnosis.before is not None or diagnosis.after is not None
    offset = diagnosis.offset
    before, after = diagnosis.before, diagnosis.after
    if not own_value and difference is not None and not difference.append_only:
        before, after = difference.leaf_before, difference.leaf_after
        offset = offset if offset is not None else difference.char_offset
    reported = call.usage is not None and call.usage.cache_read_tokens is not None
    certainty = Certainty.EXACT if reported else Certainty.ESTIMATED
    return Break(
        call=call.id,
        session=call.session,
        agent=call.agent,
        index=link.index,
        index_in_session=link.index_in_session,
        cause=diagnosis.cause,
        confidence=diagnosis.confidence,
        path=place_of(verdict),
        char_offset=offset,
        token_offset=_token_offset(verdict, expectation) if located else None,
        readable_before=verdict.readable_before,
        lost_tokens=verdict.lost,
        rebilled_tokens=verdict.rebilled,
        cost=cost.total,
        before=_window(before, offset, shown),
        after=_window(after, offset, shown),
        provider_reason=redact(call.provider_reason) if call.provider_reason else None,
        agrees_with_provider=_agrees(diagnosis.cause, call.provider_reason),
        note=redact(diagnosis.note),
        fix=fix_of(diagnosis.cause),
        certainty=certainty,
        cost_certainty=certainty if cost.exact else Certainty.ESTIMATED,
    )


def _token_offset(verdict: Verdict, expectation: Expectation | None) -> int | None:
    difference = verdict.difference
    if difference is None or difference.append_only or expectation is None:
        return None
    view = expectation.view
    if difference.index >= len(view.prompt):
        return None
    start = view.tokens_at(difference.index)
    after = difference.after
    if after is None or not after.chars:
        return start
    width = view.tokens_at(difference.index + 1) - start
    return start + width * difference.segment_offset // after.chars


def _window(value: str | None, offset: int | None, shown: Shown) -> str | None:
    if value is None:
        return None
    at = offset or 0
    value = value[max(0, at - MAX_VALUE) : at + MAX_VALUE]
    at = min(at, MAX_VALUE)
    return window(value, at, SHOWN_TEXT if shown.text else 40, show_secrets=shown.secrets)


def _agrees(cause: str, reason: str | None) -> bool | None:
    families = REASON_FAMILIES.get(reason or "")
    return None if families is None else cause.startswith(families)
