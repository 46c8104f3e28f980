"""Readers of captured traffic on real logs: as many calls as the corpus' index says, or the reason why not."""

import csv
from types import ModuleType

import pytest

from hitledger.logs import bedrock, bodies, lmcache, openai_batch, sharegpt, vcr
from hitledger.logs.files import LogFile
from log_reading import CORPUS, read

READERS: dict[str, tuple[ModuleType, ...]] = {
    "bedrock": (bedrock,),
    "lhar": (bodies,),  # the project's own test inputs are bare request bodies
    "lmcache-agent-trace": (lmcache,),
    "openai-batch": (openai_batch,),
    "sharegpt": (sharegpt,),
    "vcr-cassette": (vcr,),
}
# Calls that differ from the index, by a part of the file's name.
DECIDED = {
    "dummy_conversation": 1000,  # the index counts conversations, we count answers
    "test_google_task_prefix": 0,  # embeddings are no calls
    "test_regional_prefix_embed": 0,
    "code_execution_files_cache_prefix_stable": 2,  # uploading and deleting a file are no calls
    "test_google_model_cached_content": 2,  # creating and deleting a cache are no calls
    "test_anthropic_cache_count_tokens": 1,  # counting tokens is no call
    "context-lens__fixtures__": 1,  # the index counts responses, we count requests
}
# Files of these folders that no reader here takes.
REFUSED = {
    "antigravity-streaming-response",  # a stream inside another project's own wrapper
    "docs__LHAR.md",
    "lhar.schema.json",
    "openinference__test_instrumentor",  # messages of an SDK's process, no HTTP
}


def index_rows() -> list[list[str]]:
    if not CORPUS.is_dir():
        return []
    with (CORPUS / "INDEX.tsv").open() as stream:
        return [row for row in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE) if row[0] in READERS]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real logs is not there")
def test_the_corpus_is_covered() -> None:
    assert len(index_rows()) == 125


@pytest.mark.parametrize("row", index_rows(), ids=lambda row: row[1][-60:])
def test_calls_are_as_many_as_the_index_says(row: list[str]) -> None:
    file = LogFile(CORPUS / row[1], row[1])
    claims = [reader for reader in READERS[row[0]] if reader.sniff(file)]
    if any(part in row[1] for part in REFUSED):
        assert claims == []
        return
    (reader,) = claims
    expected = next((number for part, number in DECIDED.items() if part in row[1]), int(row[7]))
    found = read(reader, file)
    assert len(found.calls) == expected
    assert found.skips == []
