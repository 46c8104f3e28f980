"""Expected against reported reads, session by session, over logs with usage; the worst calls below. Markdown.

    python benchmarks/rule_accuracy.py LOGS... [--worst 5] [--least 2]

A row is a session of one file: calls that have a predecessor and both figures, less those that an unlogged call had
warmed (they read more than any logged call had left of their prompt). Nothing here is part of the tests.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from hitledger.audit import AuditOptions, audit
from hitledger.columns import columns, grouped
from hitledger.errors import HitledgerError
from hitledger.results import WARMED, Audit, CallResult
from hitledger.sums import sums_of
from hitledger.totals import calibration_of

HEAD = "| Session | Provider, model | Calls | Left out | Exact | < 128 | ≤ 1 % | Weighted error |"


def audits(paths: Sequence[str]) -> Iterator[Audit]:
    """One audit a file, so that sessions of different logs keep apart; files that hold nothing are passed over."""
    files = [
        file for path in paths for file in (sorted(Path(path).rglob("*")) if Path(path).is_dir() else [Path(path)])
    ]
    for file in files:
        if file.is_file():
            try:
                yield audit([str(file)], AuditOptions(segments=False))
            except HitledgerError:
                continue


def rows(found: Audit, least: int) -> Iterator[tuple[str, Sequence[CallResult]]]:
    """Sessions with at least `least` calls that can be compared."""
    for session, calls in grouped(found.calls, *columns(found.calls, "session")):
        calibration = calibration_of([sums_of(calls)])
        if calibration is None or calibration.calls < least:
            continue
        models = sorted({f"{call.provider}, {call.model}" for call in calls if call.cache_read_tokens is not None})
        share = f"{calibration.within_1_percent / calibration.calls:.1%}"
        figures = (calibration.calls, calibration.warmed, calibration.exact, calibration.within_block, share)
        yield (
            f"| {name_of(session)} | {'; '.join(models)} | {' | '.join(map(str, figures))} | {calibration.token_weighted_error:.2%} |",
            calls,
        )


def name_of(session: str) -> str:
    """A short name: a file's where the session is called after one."""
    return PurePath(session).stem[-40:] if "/" in session else session[:12]


def error(call: CallResult) -> int:
    """Tokens by which the expected read misses the reported one; 0 where the two are not compared."""
    expected, reported = call.expected_cache_read_tokens, call.cache_read_tokens
    if call.predecessor is None or expected is None or reported is None or WARMED in call.notes:
        return 0
    return expected - reported


def main() -> None:
    """Print the table and the worst calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--worst", type=int, default=5)
    parser.add_argument("--least", type=int, default=2, help="comparable calls of a session")
    options = parser.parse_args()
    compared: list[CallResult] = []
    print(f"{HEAD}\n|---|---|--:|--:|--:|--:|--:|--:|")
    for found in audits(options.logs):
        for row, calls in rows(found, options.least):
            print(row)
            compared += calls
    whole = calibration_of([sums_of(compared)])
    if whole is not None:
        print(f"\n{whole}")
    for call in sorted(compared, key=lambda call: -abs(error(call)))[: options.worst]:
        print(
            f"- {name_of(call.session)} call {call.index_in_session + 1}: expected {call.expected_cache_read_tokens:,}, "
            f"reported {call.cache_read_tokens:,} of {call.input_tokens:,}; {call.provider}, {call.model}, "
            f"{call.gap_seconds} s after the last"
        )


if __name__ == "__main__":
    main()
