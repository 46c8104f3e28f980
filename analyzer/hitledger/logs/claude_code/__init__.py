"""Claude Code transcripts (`~/.claude/projects/<folder>/<session>.jsonl`, sub-agents beside them or inside).

One call per (message.id, requestId): its rows carry the same prompt usage and are mixed with those of other messages.
System prompt, tools and side calls are not in the log, so prompts are reconstructed behind one hidden segment.
"""

from collections.abc import Iterator

from hitledger.logs.claude_code.rows import Transcript
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.types import Call

FORMAT = "claude-code"
BARE_ROWS = frozenset(
    [
        *(
            "agent-name",
            "ai-title",
            "atis-latch",
            "bridge-session",
            "custom-title",
            "frame-link",
            "last-prompt",
            "mode",
        ),
        *("permission-mode", "pr-link", "queue-operation", "relocated", "worktree-state"),
    ]
)

FORK_KEY = b'"forkedFrom":'


def sniff(file: LogFile) -> bool:
    """Whether one of the first rows is one that only Claude Code writes."""
    return any(_is_ours(row) for row in file.head_rows() if isinstance(row, dict))


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls of all transcripts. History that a fork or a resumed session copied counts once, for its first session.

    A fork says so on its rows; forks are read last, so that the copies are known as such wherever the file lies.
    """
    counted: set[str] = set()
    started_by: dict[str, str] = {}
    for file in sorted(files, key=_is_fork):
        ledger = ingest.open(file.name, FORMAT)
        yield from Transcript(file, ledger, counted, started_by).calls()


def _is_ours(row: dict[str, object]) -> bool:
    kind = str(row.get("type"))
    if kind == "summary":
        return "leafUuid" in row
    if kind == "file-history-snapshot":
        return "snapshot" in row
    if kind in ("started", "result") and "agentId" in row and "key" in row:  # journal of a workflow's agents
        return True
    if not isinstance(row.get("sessionId"), str):
        return False
    message = row.get("message")
    if "systemPayload" in row or (isinstance(message, dict) and "parts" in message):  # Qwen Code's rows look alike
        return False
    return kind in BARE_ROWS or "parentUuid" in row or (isinstance(message, dict) and "usage" in message)


def _is_fork(file: LogFile) -> bool:
    return FORK_KEY in file.head()
