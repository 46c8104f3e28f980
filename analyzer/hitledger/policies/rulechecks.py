"""What is wrong with a rule that a user wrote, beyond keys and types."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase

from hitledger.policies.rule import Rule
from hitledger.types import Tier


def faults(rule: Rule) -> Iterator[str]:
    """Each reason to refuse the rule."""
    if not rule.id or not rule.source:
        yield "id and source say something"
    if rule.valid_to is not None and rule.valid_to <= rule.valid_from:
        yield "valid_to is not after valid_from"
    figures = [rule.max_breakpoints, rule.lookback, rule.block - 1, rule.slots - 1]
    figures += [row.tokens for row in rule.minimums] + [row.seconds for row in rule.lifetimes]
    if min(figures) < 0:
        yield "a negative number, or a block or slots below 1"
    if not 0 <= rule.similarity <= 1:
        yield f"similarity {rule.similarity} is not from 0 to 1"
    if sorted(rule.order) != sorted(Tier):
        yield f"order names each of {', '.join(Tier)} once"
    globs = [rule.models, rule.within]
    globs += [row.models for row in rule.minimums] + [row.models for row in rule.read]
    if not all(row and all(row) for row in globs):
        yield "models names at least one model"
    yield from _faults_of_lifetimes(rule)
    for text in filter(None, (*(row.write for row in rule.lifetimes), *(row.rate for row in rule.read))):
        if not _is_multiple(text):
            yield f"`{text:.40}` is no multiple of the input price"


def _faults_of_lifetimes(rule: Rule) -> Iterator[str]:
    ids = [row.id for row in rule.lifetimes]
    if rule.default_lifetime and rule.default_lifetime not in ids:
        yield f"default_lifetime `{rule.default_lifetime}` is none of its lifetimes"
    if len(set(ids)) < len(ids):
        yield "two lifetimes have the same id"


def _is_multiple(text: str) -> bool:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    return number.is_finite() and number >= 0


def hides(earlier: Rule, rule: Rule) -> bool:
    """Whether the earlier rule is always taken in place of this one, on some day: this one would hold in vain."""
    return (
        max(earlier.valid_from, rule.valid_from) < min(earlier.valid_to or date.max, rule.valid_to or date.max)
        and earlier.marked in (None, rule.marked)
        and (not earlier.apis or (bool(rule.apis) and set(rule.apis) <= set(earlier.apis)))
        and all(any(fnmatchcase(glob, wider) for wider in earlier.models) for glob in rule.models)
        and earlier.within in (("*",), rule.within)
    )
