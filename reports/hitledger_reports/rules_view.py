"""`hitledger rules`: which cache rules apply on a day, where they come from, and how long ago that was looked at."""

from collections.abc import Iterator, Sequence
from datetime import date

from hitledger.errors import UsageError
from hitledger.policies.rule import Algorithm, Rule

STALE_DAYS = 180  # providers changed a rule about twice a year
NEVER = "until further notice"


def chosen(rules: Sequence[Rule], provider: str, at: date) -> tuple[Rule, ...]:
    """Rules of a provider ("" for all) on a day. Raises UsageError for a provider without any rule."""
    names = {rule.provider.lower(): rule.provider for rule in rules}
    if provider and provider.lower() not in names:
        raise UsageError(f"no rules of `{provider}`; there are rules of {', '.join(sorted(names.values()))}")
    held = (rule for rule in rules if rule.valid_from <= at and (rule.valid_to is None or at < rule.valid_to))
    return tuple(rule for rule in held if provider.lower() in ("", rule.provider.lower()))


def listing(rules: Sequence[Rule], provider: str, at: date) -> Iterator[str]:
    """One line a rule, or everything about the rules of one provider; then those checked long before that day."""
    found = chosen(rules, provider, at)
    if not found:
        yield f"No rule of {provider or 'any provider'} on {at}: nothing is expected of its calls on that day."
    for rule in found:
        if provider:
            yield from _whole(rule)
        else:
            yield f"{rule.provider:13} {rule.id:32} {rule.algorithm:13} {rule.evidence:12} checked {rule.checked}"
    old = [rule for rule in found if (at - rule.checked).days > STALE_DAYS]
    for rule in old:
        yield f"! {rule.id}: checked {(at - rule.checked).days} days before, on {rule.checked}; read {rule.source} again"


def table(rules: Sequence[Rule], at: date) -> Iterator[str]:
    """The rules that hold on a day as a Markdown table; docs/rules.md has it."""
    yield "| Provider | Rule | From | Reads | Minimum | Lifetime | Evidence |"
    yield "|---|---|---|---|---|---|---|"
    for rule in chosen(rules, "", at):
        minimum = " to ".join(f"{tokens:,}" for tokens in _ends([row.tokens for row in rule.minimums]))
        published = ", ".join(row.id for row in rule.lifetimes if row.seconds) or "not published"
        reads = f"{rule.algorithm}{f', {rule.block} tokens' if rule.block > 1 else ''}"
        promise = ", best effort" if rule.best_effort else ""
        basis = f"{rule.evidence}, {rule.checked}"
        lifetime = published if rule.algorithm is not Algorithm.NONE else ""
        yield (
            f"| {rule.provider} | {rule.id} | {rule.valid_from} | {reads}{promise} | {minimum} | {lifetime} | {basis} |"
        )


def _ends(figures: Sequence[int]) -> list[int]:
    """The smallest and the largest, once where they are the same."""
    return sorted({min(figures), max(figures)}) if figures else []


def _whole(rule: Rule) -> Iterator[str]:
    yield f"{rule.id} ({rule.algorithm}{', best effort' if rule.best_effort else ''})"
    yield f"  holds         from {rule.valid_from} {f'to before {rule.valid_to}' if rule.valid_to else NEVER}"
    for name, text in facts(rule):
        yield f"  {name:13} {text}"
    yield f"  source        {rule.source} ({rule.evidence}, checked {rule.checked})"
    for note in rule.notes:
        yield f"  note          {note}"


def facts(rule: Rule) -> Iterator[tuple[str, str]]:
    """What the rule says, value by value; what it leaves out is not shown."""
    marks = {True: "with marks only", False: "without marks only"}
    rows = (
        ("models", _models(rule)),
        ("requests", ", ".join((*rule.apis, *([marks[rule.marked]] if rule.marked is not None else [])))),
        ("order", ", ".join(rule.order)),
        ("marks", f"at most {rule.max_breakpoints}" if rule.max_breakpoints else ""),
        ("look-back", _lookback(rule)),
        (
            "step",
            f"{rule.block:,} tokens{', parts of one too' if rule.partial_blocks else ''}" if rule.block > 1 else "",
        ),
        ("minimum", "; ".join(f"{row.tokens:,} ({' '.join(row.models)})" for row in rule.minimums)),
        ("lifetime", "; ".join(lifetimes(rule))),
        ("renewed", "by every read" if rule.refreshed_by_read else "never"),
        ("counts from", rule.clock.replace("_", " ")),
        ("readable from", rule.visible_after.replace("_", " ")),
        ("reads cost", "; ".join(f"{row.rate} of input ({' '.join(row.models)})" for row in rule.read)),
        ("lost by", "; ".join(f"{row.change} from {row.tier} on" for row in rule.invalidates)),
        ("strips", f"thinking of finished turns ({' '.join(rule.strips_thinking)})" if rule.strips_thinking else ""),
        ("shared in", ", ".join(rule.isolation)),
    )
    yield from ((name, text) for name, text in rows if text)


def _models(rule: Rule) -> str:
    globs = " ".join(rule.models)
    return globs if rule.within == ("*",) else f"{globs} of {' '.join(rule.within)}"


def _lookback(rule: Rule) -> str:
    runs = ", a run of tool calls or of results as one" if rule.collapse_runs else ""
    return f"{rule.lookback} positions{runs}" if rule.lookback else ""


def lifetimes(rule: Rule) -> Iterator[str]:
    """Each lifetime with its length and what a write costs."""
    for row in rule.lifetimes:
        seconds = f"{row.seconds:,} s" if row.seconds else "not published"
        write = f", writes cost {row.write} of input" if row.write else ""
        yield f"{row.id}{' (default)' if row.id == rule.default_lifetime else ''} {seconds}{write}"
