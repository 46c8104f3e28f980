"""The committed file of known findings: what is in it does not fail again."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from hitledger.check.findings import CheckFinding
from hitledger.errors import UsageError
from hitledger.outfile import write_file

SCHEMA_VERSION = 1
MAX_BYTES = 16 * 2**20


class KnownFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """What makes a finding the same one at the next run; no text, since that is what changes."""

    file: str
    path: str
    cause: str


class KnownFindings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    schema_version: int
    findings: tuple[KnownFinding, ...]


def load(path: str) -> frozenset[KnownFinding]:
    """Raises UsageError where the file is missing or is none of ours."""
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES or not file.is_file():
            raise UsageError(f"{path}: no regular file, or larger than {MAX_BYTES // 2**20} MiB")
        found = msgspec.json.decode(file.read_bytes(), type=KnownFindings)
    except OSError as error:
        raise UsageError(f"{path}: known findings cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}: not a file of known findings: {error}") from error
    if found.schema_version != SCHEMA_VERSION:
        raise UsageError(f"{path}: schema_version {found.schema_version}, this hitledger reads {SCHEMA_VERSION}")
    return frozenset(found.findings)


def save(findings: Iterable[CheckFinding], path: str) -> None:
    """Write all findings as known ones: one a line, sorted. Raises HitledgerError."""
    rows = sorted({_known(one) for one in findings})
    lines = ",\n".join(f"  {msgspec.json.encode(row).decode()}" for row in rows)
    write_file(path, f'{{\n "schema_version": {SCHEMA_VERSION},\n "findings": [\n{lines}\n ]\n}}\n')


def marked_known(
    findings: Sequence[CheckFinding], known: frozenset[KnownFinding], baseline: Sequence[CheckFinding]
) -> tuple[CheckFinding, ...]:
    """Known: listed in the file, or there in the baseline as well, as far as it was only seen and not measured."""
    before = {(one.cause, one.path, one.note) for one in baseline if not one.conditions}
    return tuple(
        replace(one, known=True)
        if _known(one) in known or (not one.conditions and (one.cause, one.path, one.note) in before)
        else one
        for one in findings
    )


def _known(finding: CheckFinding) -> KnownFinding:
    return KnownFinding(finding.file, finding.path, finding.cause)
