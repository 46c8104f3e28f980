"""Which log formats there are, and what came of the files of each: the listing and the table of `hitledger formats`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import modules

from hitledger.logs.ingest import FileLedger
from hitledger.logs.read import read_logs
from hitledger.logs.registry import Reader, readers


@dataclass(frozen=True, slots=True)
class FormatRow:
    """What the files of one format hold. rows == calls + known + skipped."""

    format: str
    files: int
    rows: int
    calls: int
    known: int  # rows known to carry no call
    skipped: int


def listing() -> Iterator[str]:
    """One line a format, by name: what its reader says it reads."""
    known = sorted(readers(), key=lambda reader: reader.format)
    width = max(len(reader.format) for reader in known)
    for reader in known:
        yield f"{reader.format:{width}}  {_what(reader)}"


def table(paths: Sequence[str]) -> Iterator[str]:
    """A Markdown table of formats by files, rows and calls. Raises NothingToReadError where nothing can be read."""
    yield "| Format | Files | Rows | Calls | Rows without a call | Rows skipped |"
    yield "|---|--:|--:|--:|--:|--:|"
    for row in read_formats(paths):
        figures = (row.files, row.rows, row.calls, row.known, row.skipped)
        yield f"| {row.format} | {' | '.join(f'{figure:,}' for figure in figures)} |"


def read_formats(paths: Sequence[str]) -> tuple[FormatRow, ...]:
    """Read everything and sum the ledgers by format, sorted by name."""
    reading = read_logs(paths)
    for _ in reading.calls():
        pass
    ledgers: dict[str, list[FileLedger]] = {}
    for ledger in reading.ingest.ledgers:
        ledgers.setdefault(ledger.format, []).append(ledger)
    return tuple(_sum(name, ledgers[name]) for name in sorted(ledgers))


def _sum(name: str, ledgers: list[FileLedger]) -> FormatRow:
    return FormatRow(
        format=name,
        files=len(ledgers),
        rows=sum(ledger.rows for ledger in ledgers),
        calls=sum(ledger.calls for ledger in ledgers),
        known=sum(ledger.known_rows.total() for ledger in ledgers),
        skipped=sum(ledger.skipped for ledger in ledgers),
    )


def _what(reader: Reader) -> str:
    """The first sentence of the reader's module, on one line."""
    text = " ".join((modules[reader.sniff.__module__].__doc__ or "").split("\n\n")[0].split())
    first, _, rest = text.partition(": ")
    return (first if len(first) > 60 else f"{first}: {rest}" if rest else first).removesuffix(".")
