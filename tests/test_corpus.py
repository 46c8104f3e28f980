"""All readers over all real logs: one reader a file, no crash, no row lost; and the calls that the index counts."""

import csv
from functools import cache
from pathlib import Path

import pytest

from hitledger.errors import NothingToReadError
from hitledger.logs.detect import detect
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from log_reading import ROOT

CORPUS = ROOT.parent / "shared" / "corpus"
FOLDERS = (
    "kv-cache-tester",
    "langfuse",
    "langsmith",
    "litellm",
    "otel",
    "openinference-phoenix",
    "tracelab",
    "vercel-ai-sdk",
)
# Calls that differ from the index, by a part of the file's name, and why.
DECIDED = {
    "agno-2025-06-11": 2,  # the index counts the outer generations too
    "vercel-aisdk-2025-11-17": 1,  # the same
    "open-agent-traces__test-traces": 0,  # two test spans without a model
    "round_trace.expanded": 19,  # the same rounds as in the lines, which the index counts
    "spans-by-operation": 4,  # the same spans as in all-spans, which the index counts
}
REFUSED = {
    "anthropic_managed_": "recordings of a client's events for the SDK's own tests, no runs",
    "genai_schemas": "JSON schemas",
    "TraceLab__claude__trace": "examples with comments, made for readers",
    "TraceLab__codex__trace": "the same",
    "capture-results": "a summary of which captures succeeded",
}


def files() -> list[Path]:
    """All real logs, smaller than 16 MiB."""
    found = sorted(CORPUS.rglob("*")) if CORPUS.is_dir() else []
    return [path for path in found if path.is_file() and path.name != "INDEX.tsv" and path.stat().st_size < 2**24]


@cache
def index() -> dict[str, int]:
    with (CORPUS / "INDEX.tsv").open() as stream:
        return {
            row["file"]: int(row["requests"]) for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        }


def shown(path: Path) -> str:
    return str(path.relative_to(CORPUS))


needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="../shared/corpus is not here")


@needs_corpus
@pytest.mark.parametrize("folder", sorted({shown(path).split("/")[0] for path in files()}) or ["none"])
def test_every_file_is_read_by_one_reader_or_refused_with_a_reason(folder: str) -> None:
    reasons = []
    for path in (path for path in files() if shown(path).startswith(f"{folder}/")):
        file, ingest = LogFile(path, shown(path)), Ingest()
        try:
            reader = detect(file)
        except NothingToReadError as error:
            reasons.append(str(error))
            continue
        calls = list(reader.read((file,), ingest))
        assert all(ledger.balanced for ledger in ingest.ledgers), file.name
        assert sum(ledger.calls for ledger in ingest.ledgers) == len(calls), file.name
        assert ingest.ledgers or ingest.refusals, file.name
    assert [reason for reason in reasons if not reason.startswith(("unknown format", "empty"))] == []


@needs_corpus
@pytest.mark.parametrize(
    "path", [path for path in files() if shown(path).split("/")[0] in FOLDERS], ids=lambda path: path.name[-50:]
)
def test_calls_are_those_of_the_index(path: Path) -> None:
    file, ingest = LogFile(path, shown(path)), Ingest()
    if any(part in path.name for part in REFUSED):
        with pytest.raises(NothingToReadError, match="unknown format"):
            detect(file)
        return
    expected = next((calls for part, calls in DECIDED.items() if part in path.name), index()[file.name])
    assert len(list(detect(file).read((file,), ingest))) == expected
    assert [ledger.skipped for ledger in ingest.ledgers] == [0]
