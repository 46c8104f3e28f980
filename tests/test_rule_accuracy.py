"""The expected reads of three real sessions against the reported ones. Skipped where the logs are not at hand."""

import json
from pathlib import Path

import pytest

from hitledger.audit import AuditOptions, audit
from hitledger.results import WARMED

CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpus"
SESSIONS = ("c76e5be5", "3af9b1a7", "554b9fa6")
UNJUDGED = ("unknown", "partial", "context_cleared", "already_warmed")


@pytest.mark.parametrize("session", SESSIONS)
def test_expected_reads_are_those_reported(session: str) -> None:
    """On 95 % of calls within 16 tokens or 1 %; token-weighted error at most 1 %.

    Left out: first calls, calls whose label says that nobody knows, and calls that read more than any logged call had
    left of their prompt (an unlogged call had warmed it).
    """
    logs = sorted((CORPUS / "claude-code").glob(f"*{session}*.jsonl"))
    if not logs:
        pytest.skip(f"no log of session {session} beside the repository")
    truth = json.loads((CORPUS / "truth" / f"claude-{session}.json").read_text())
    labels = {f"{row['message_id']}/{row['request_id']}": row["label"] for row in truth["collapses"]}
    errors, prompts = [], []
    for call in audit([str(logs[0])], AuditOptions(segments=False)).calls:
        unjudged = WARMED in call.notes or any(word in labels.get(call.id, "") for word in UNJUDGED)
        if call.predecessor is None or unjudged or call.cache_read_tokens is None:
            continue
        assert call.expected_cache_read_tokens is not None
        assert call.input_tokens is not None
        errors.append(abs(call.expected_cache_read_tokens - call.cache_read_tokens))
        prompts.append(call.input_tokens)
    close = sum(error <= max(16, prompt / 100) for error, prompt in zip(errors, prompts, strict=True))
    assert len(errors) > 100
    assert close / len(errors) >= 0.95
    assert sum(errors) / sum(prompts) <= 0.01
