"""`hitledger whatif`: both sides of a simulation, what the log says, and what the figures leave out."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from textwrap import wrap
from typing import Any

from hitledger.errors import NothingToReadError, UsageError
from hitledger.logs.read import read_logs
from hitledger.policies.rules import rules_with
from hitledger.prices import PriceBook
from hitledger.tokens import TokenCounter
from hitledger.types import Certainty
from hitledger.whatif.changes import MarkAt
from hitledger.whatif.run import Change, Outcome, WhatIf, what_if
from hitledger_reports import figures

WIDTH = 80


def parse_marks(text: str) -> tuple[MarkAt, ...]:
    """`tools,system,last`. Raises UsageError."""
    try:
        return tuple(MarkAt(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise UsageError(f"--marks {text}: give a list of {', '.join(MarkAt)}") from error


def run(inputs: Sequence[str], change: Change, format: str | None, prices: Path | None, rules: Path | None) -> WhatIf:
    """Read the logs and simulate both sides. `prices` and `rules` are the user's own. Raises UsageError, NothingToReadError."""
    if change == Change():
        raise UsageError("say what is to be different: --lifetime, --marks, --model, --provider or --mend")
    calls = list(read_logs(inputs, format=format).calls())
    if not calls:
        raise NothingToReadError("no call was found in these logs")
    return what_if(calls, change, rules_with(rules), PriceBook(prices), TokenCounter())


def lines(found: WhatIf) -> Iterator[str]:
    """The comparison as text."""
    total = found.before.calls + found.not_simulated
    others = " (the others have no rule or no prompt)" if found.not_simulated else ""
    yield f"{figures.plural(found.before.calls, 'call')} of {total:,} simulated{others}"
    yield f"{'':16}{'in the log':>16}{'simulated now':>16}{'changed':>16}"
    sides = ((found.logged, Certainty.EXACT), (found.before, Certainty.ESTIMATED), (found.after, Certainty.ESTIMATED))
    for label, show in ROWS:
        yield f"{label:16}" + "".join(f"{show(side, sure):>16}" for side, sure in sides)
    if found.before.cost is not None and found.after.cost is not None:
        yield f"Change of the bill: ~{_signed(found.after.cost - found.before.cost)} (simulated to simulated)"
    for sentence in _sentences(found):
        yield from wrap(sentence, WIDTH, subsequent_indent="  ")


def _sentences(found: WhatIf) -> Iterator[str]:
    if found.mended:
        yield "Mended: " + ", ".join(f"{cause} ({breaks})" for cause, breaks in found.mended)
    apart, guess = found.compactions, Certainty.ESTIMATED
    if apart.calls:
        yield (
            f"Compactions are left as they are: {figures.plural(apart.calls, 'summary', 'summaries')} wrote "
            f"{figures.count(apart.rewritten, guess)} tokens anew ({_usd(apart.cost, guess)} over reading as many) and kept "
            f"{figures.count(apart.saved_tokens, guess)} tokens out of later prompts "
            f"({_usd(apart.saved, guess)} at the read rate)"
        )
    for outcome, side in ((found.before, "now"), (found.after, "changed")):
        if outcome.unpriced:
            yield f"! {figures.plural(outcome.unpriced, 'call')} without price ({side}): in no figure of money"
    for note in found.notes:
        yield f"! {note}"
    yield figures.LEGEND


def result(found: WhatIf) -> dict[str, Any]:
    """The comparison as JSON values; money is text."""
    apart = found.compactions
    return {
        "before": _outcome(found.before),
        "after": _outcome(found.after),
        "logged": _outcome(found.logged),
        "mended": dict(found.mended),
        "compactions": {
            "calls": apart.calls,
            "rewritten_tokens": apart.rewritten,
            "cost": _text(apart.cost),
            "saved_tokens": apart.saved_tokens,
            "saved": _text(apart.saved),
        },
        "not_simulated": found.not_simulated,
        "notes": list(found.notes),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "calls": outcome.calls,
        "input_tokens": outcome.input_tokens,
        "cache_read_tokens": outcome.read,
        "cache_write_tokens": outcome.written,
        "hit_rate": outcome.hit_rate,
        "cost": _text(outcome.cost),
        "calls_without_price": outcome.unpriced,
    }


def _text(money: Decimal | None) -> str | None:
    return None if money is None else str(money)


def _usd(money: Decimal | None, certainty: Certainty) -> str:
    return figures.UNKNOWN if money is None else f"{figures.SIGN[certainty]}${money:,.4f}"


def _signed(money: Decimal) -> str:
    return f"{'+' if money > 0 else '−' if money < 0 else ''}${abs(money):,.4f}"


ROWS: tuple[tuple[str, Callable[[Outcome, Certainty], str]], ...] = (
    ("Input tokens", lambda side, sure: figures.count(side.input_tokens, sure)),
    ("Read", lambda side, sure: figures.count(side.read, sure)),
    ("Written", lambda side, sure: figures.count(side.written, sure)),
    ("Hit rate", lambda side, sure: figures.share(side.hit_rate, sure)),
    ("Cost", lambda side, _: _usd(side.cost, side.certainty)),
)
