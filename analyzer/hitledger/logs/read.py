"""From what the user named to calls, with the ledger of what was read on the way."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from hitledger.errors import NothingToReadError
from hitledger.logs.detect import detect
from hitledger.logs.discover import discover
from hitledger.logs.files import LogFile, forget_answers
from hitledger.logs.ingest import Ingest
from hitledger.logs.registry import Reader, reader_of
from hitledger.logs.values import opening
from hitledger.stages import Progress
from hitledger.types import Call

CALLS_PER_TICK = 128
REASONS_SHOWN = 5
PROVIDER_ID = 20  # characters; shorter ids are counted up by a tool, and stand for other calls elsewhere
IN_TWO_FORMATS = "in_two_formats"


class Reading(Struct):
    """The files that will be read. `ingest` is complete once `calls` is at its end."""

    ingest: Ingest
    claimed: tuple[tuple[Reader, tuple[LogFile, ...]], ...]
    progress: Progress | None = None  # in bytes

    def calls(self) -> Iterator[Call]:
        """All calls, format by format, files in input order. Raises NothingToReadError at the end if there is none."""
        ticks = _Ticks(self.ingest, self.claimed, self.progress) if self.progress else None
        number = 0
        by_format = (reader.read(files, self.ingest) for reader, files in self.claimed)
        for call in chain.from_iterable(by_format if len(self.claimed) < 2 else _twice_noted(by_format)):
            number += 1
            if ticks and number % CALLS_PER_TICK == 0:
                ticks.tick()
            yield call
        if ticks:
            ticks.end()
        if not number:
            raise NothingToReadError(_nothing_read(self.ingest))


def _twice_noted(by_format: Iterable[Iterable[Call]]) -> Iterator[Iterator[Call]]:
    """The calls of each format; those that an earlier one holds too, by the provider's ids, have a note."""
    known: set[str] = set()
    for calls in by_format:
        own: set[str] = set()
        yield (_noted(call, known, own) for call in calls)
        known |= own


def _noted(call: Call, known: set[str], own: set[str]) -> Call:
    ids = [part for part in call.id.split("/") if len(part) >= PROVIDER_ID]
    own.update(ids)
    return call if known.isdisjoint(ids) else replace(call, notes=(*call.notes, IN_TWO_FORMATS))


class _Ticks:
    """Progress by bytes. Sizes are those on disk, so a compressed file counts as read a little early."""

    def __init__(
        self, ingest: Ingest, claimed: tuple[tuple[Reader, tuple[LogFile, ...]], ...], progress: Progress
    ) -> None:
        self.ingest = ingest
        self.sizes = {file.name: _size(file) for _, files in claimed for file in files}
        self.total = sum(self.sizes.values())
        self.progress = progress

    def tick(self) -> None:
        done = sum(min(ledger.bytes_read, self.sizes.get(ledger.file, 0)) for ledger in self.ingest.ledgers)
        self.progress(done, self.total)

    def end(self) -> None:
        self.progress(self.total, self.total)


def read_logs(
    inputs: Sequence[str], *, format: str | None = None, strict: bool = False, progress: Progress | None = None
) -> Reading:
    """Find the files and their readers; rows are read as `Reading.calls` is consumed.

    `format` overrides detection; with `strict` a skipped row or a refused input is an error.
    Raises NothingToReadError where no file can be read, UsageError for an unknown format.
    """
    if format is not None:
        reader_of(format)
    forget_answers()
    opening.cache_clear()
    ingest = Ingest(strict)
    claimed: dict[str, tuple[Reader, list[LogFile]]] = {}
    for file in discover(inputs, ingest):
        try:
            reader = detect(file, format)
        except NothingToReadError as error:
            ingest.refuse(file.name, str(error))
        else:
            claimed.setdefault(reader.format, (reader, []))[1].append(file)
    if not claimed:
        raise NothingToReadError(_nothing_read(ingest))
    return Reading(ingest, tuple((reader, tuple(files)) for reader, files in claimed.values()), progress)


def _size(file: LogFile) -> int:
    try:
        return len(file.content or b"") if file.path is None else file.path.stat().st_size
    except OSError:  # gone since it was found
        return 0


def _nothing_read(ingest: Ingest) -> str:
    """The reason, with the first files and rows that could not be used."""
    rows = sum(ledger.rows for ledger in ingest.ledgers)
    skipped = sum(ledger.skipped for ledger in ingest.ledgers)
    lines = [f"nothing to read: no call in {rows} rows ({skipped} of them damaged)" if rows else "nothing to read"]
    reasons = [f"{refusal.file}: {refusal.reason}" for refusal in ingest.refusals]
    for ledger in ingest.ledgers:
        reasons += [f"{skip.file}:{skip.row}: {skip.reason}" for skip in ledger.skips[:1]]
        if not ledger.skips:
            reasons.append(f"{ledger.file}: no call in it, read as {ledger.format}; --format names another")
    lines += [f"  {reason}" for reason in reasons[:REASONS_SHOWN]]
    if len(reasons) > REASONS_SHOWN:
        lines.append(f"  and {len(reasons) - REASONS_SHOWN} more")
    return "\n".join(lines)
