"""`hitledger whatif`: both sides of a simulation, what the log says, and what the figures leave out."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from hitledger.errors import NothingToReadError, UsageError
from hitledger.logs.read import read_logs
from hitledger.policies.rules import rules_with
from hitledger.prices import PriceBook
from hitledger.tokens import TokenCounter
from hitledger.whatif.changes import MarkAt
from hitledger.whatif.run import Change, Outcome, WhatIf, what_if
from hitledger_reports import figures


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
    yield f"{figures.plural(found.before.calls, 'call')} of {total:,} simulated (the others have no rule or no prompt)"
    yield f"{'':16}{'in the log':>16}{'simulated now':>16}{'changed':>16}"
    for label, show in ROWS:
        yield f"{label:16}" + "".join(f"{show(side):>16}" for side in (found.logged, found.before, found.after))
    if found.before.cost is not None and found.after.cost is not None:
        yield f"Change of the bill: {_signed(found.after.cost - found.before.cost)} (simulated to simulated)"
    if found.mended:
        yield "Mended: " + ", ".join(f"{cause} ({breaks})" for cause, breaks in found.mended)
    apart = found.compactions
    if apart.calls:
        yield (
            f"Compactions are left as they are: {figures.plural(apart.calls, 'summary', 'summaries')} wrote "
            f"{apart.rewritten:,} tokens anew ({_usd(apart.cost)} over reading as many) and kept "
            f"{apart.saved_tokens:,} tokens out of later prompts ({_usd(apart.saved)} at the read rate)"
        )
    for outcome, side in ((found.before, "now"), (found.after, "changed")):
        if outcome.unpriced:
            yield f"! {figures.plural(outcome.unpriced, 'call')} without price ({side}): in no figure of money"
    for note in found.notes:
        yield f"! {note}"


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


def _usd(money: Decimal | None) -> str:
    return figures.UNKNOWN if money is None else f"${money:,.4f}"


def _signed(money: Decimal) -> str:
    return f"{'+' if money > 0 else '−' if money < 0 else ''}${abs(money):,.4f}"


ROWS: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("Input tokens", lambda side: f"{side.input_tokens:,}"),
    ("Read", lambda side: f"{side.read:,}"),
    ("Written", lambda side: f"{side.written:,}"),
    ("Hit rate", lambda side: figures.share(side.hit_rate)),
    ("Cost", lambda side: _usd(side.cost)),
)
