"""The expected reads of real sessions against the reported ones; of three where their logs are at hand."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hitledger.audit import AuditOptions, audit
from hitledger.results import WARMED
from log_reading import FIXTURES

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


def test_the_benchmark_counts_what_the_audit_holds() -> None:
    session = FIXTURES / "claude-code" / "real-session"
    program = Path(__file__).parent.parent / "benchmarks" / "rule_accuracy.py"
    done = subprocess.run([sys.executable, program, session], capture_output=True, text=True, check=True)
    pairs = [
        (call.expected_cache_read_tokens, call.cache_read_tokens)
        for call in audit([str(session)], AuditOptions(segments=False)).calls
        if call.predecessor is not None and WARMED not in call.notes and call.cache_read_tokens is not None
    ]
    exact = sum(expected == reported for expected, reported in pairs)
    assert f"| {len(pairs)} | 5 | {exact} |" in done.stdout
    assert len(pairs) > 50
