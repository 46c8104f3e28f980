"""The ingest ledger: every row read is a call, a known row that carries none, or skipped with a reason."""

from collections import Counter

from msgspec import Struct

from hitledger.errors import HitledgerError

# What wrong types in a hostile or foreign row raise; the row is skipped and the rest of the file is read.
UNEXPECTED = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
MAX_SKIPS_KEPT = 1000  # skipped rows are all counted; only so many are listed


class Skip(Struct, frozen=True):
    """A row that could not be used."""

    file: str
    row: int  # from 1
    reason: str


class Refusal(Struct, frozen=True):
    """An input that no row was read of: missing, unreadable, empty, of an unknown format."""

    file: str
    reason: str


class FileLedger:
    """What became of the rows of one file. Readers say exactly one of `call`, `known`, `skip` for each row."""

    # No struct: its fields are set for each row, which takes a struct ten times as long.
    __slots__ = ("bytes_read", "calls", "file", "format", "known_rows", "notes", "rows", "skipped", "skips", "strict")

    def __init__(self, file: str, format: str, strict: bool = False) -> None:
        self.file = file
        self.format = format
        self.strict = strict
        self.rows = 0  # counted by the row source; documents count their records with `count_rows`
        self.calls = 0
        self.known_rows: Counter[str] = Counter()
        self.skipped = 0
        self.skips: list[Skip] = []
        self.notes: Counter[str] = Counter()
        self.bytes_read = 0  # after decompression; counted by the row source

    def count_rows(self, number: int = 1) -> None:
        """For documents: so many records were found (the line reader counts its lines by itself)."""
        self.rows += number

    def call(self) -> None:
        """A row that is a call (or the first row of one)."""
        self.calls += 1

    def known(self, kind: str, number: int = 1) -> None:
        """Rows that carry no call; `kind` is their row type, or why they count for none ("same call", …)."""
        self.known_rows[kind] += number

    def note(self, text: str, number: int = 1) -> None:
        """Something about so many calls that the reader of the report should know."""
        self.notes[text] += number

    def skip(self, row: int, reason: str) -> None:
        """A row that cannot be used, from 1. Raises with --strict."""
        if self.strict:
            raise HitledgerError(f"{self.file}:{row}: {reason} (--strict)")
        self.skipped += 1
        if len(self.skips) < MAX_SKIPS_KEPT:
            self.skips.append(Skip(self.file, row, reason))

    def skip_unexpected(self, row: int, error: Exception) -> None:
        """A row whose content raised one of UNEXPECTED. Raises with --strict."""
        self.skip(row, f"unexpected content: {type(error).__name__}: {error}"[:200])

    @property
    def balanced(self) -> bool:
        """Whether every row is accounted for."""
        return self.rows == self.calls + sum(self.known_rows.values()) + self.skipped


class Ingest:
    """The ledgers of all files of one run, in reading order, and the inputs that were refused."""

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self.ledgers: list[FileLedger] = []
        self.refusals: list[Refusal] = []

    def open(self, file: str, format_name: str) -> FileLedger:
        """Start the ledger of one file."""
        ledger = FileLedger(file, format_name, self.strict)
        self.ledgers.append(ledger)
        return ledger

    def refuse(self, file: str, reason: str) -> None:
        """An input that cannot be read at all. Raises with --strict."""
        if self.strict:
            raise HitledgerError(f"{file}: {reason} (--strict)")
        self.refusals.append(Refusal(file, reason))
