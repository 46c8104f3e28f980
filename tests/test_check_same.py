"""The same prompt as candidate changes nothing: on every session with full prompts that the readers can read."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import orjson
import pytest

from hitledger.check.figures import Shares
from hitledger.check.recording import record
from hitledger.check.run import CheckOptions, check
from hitledger.errors import HitledgerError
from hitledger.policies.rules import shipped
from hitledger.tokens import TokenCounter
from hitledger.types import Call, Kind, Tier

FIXTURES = Path(__file__).parent.parent / "fixtures"
NO_LOGS = {"accounting", "check", "expected", "hostile", "prices", "refused", "traces"}
SHORTEST = 20  # characters of a system prompt that can be told from another text


def inputs() -> list[str]:
    """Each folder of a format that is a log as it lies on disk, and each file of those that hold several."""
    found: list[str] = []
    for folder in sorted(FIXTURES.iterdir()):
        if folder.is_dir() and folder.name not in NO_LOGS:
            files = [path for path in sorted(folder.iterdir()) if not path.name.startswith(("README", "LICENSE"))]
            alone = folder.name in {"scenarios", "vcr", "litellm", "langfuse", "langsmith", "bodies", "otel"}
            found += [str(path.relative_to(FIXTURES)) for path in files] if alone else [folder.name]
    return found


@cache
def calls_of(name: str) -> tuple[Call, ...]:
    try:
        return record((str(FIXTURES / name),), None, shipped(), TokenCounter()).calls
    except HitledgerError:
        return ()


def materials(calls: tuple[Call, ...], folder: Path) -> Iterator[Path]:
    """System prompts and tool lists of the first call of each session, as files."""
    firsts = {call.session: call for call in reversed(calls)}
    for number, call in enumerate(firsts.values()):
        segments = call.prompt.segments()
        system = next((s.text for s in segments if s.tier is Tier.SYSTEM and s.kind is Kind.SYSTEM and s.text), "")
        if len(system.strip()) >= SHORTEST:
            file = folder / f"system-{number}.md"
            file.write_text(system, encoding="utf-8", newline="", errors="surrogatepass")
            yield file
        tools = [orjson.loads(s.text or "null") for s in segments if s.kind is Kind.TOOL]
        if tools and all(isinstance(tool, dict) for tool in tools):
            file = folder / f"tools-{number}.json"
            file.write_bytes(orjson.dumps(tools, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2))
            yield file


@pytest.mark.parametrize("name", inputs())
def test_the_same_prompt_costs_nothing(name: str, tmp_path: Path) -> None:
    calls = calls_of(name)
    for file in materials(calls, tmp_path):
        result = check(CheckOptions(baseline=str(file), candidate=str(file), logs=(str(FIXTURES / name),)))
        assert result.verdict == "pass"
        assert str(result.one_off_cost) == "0"
        assert result.hit_rate is not None
        assert result.hit_rate == Shares(result.hit_rate.before, result.hit_rate.before)
        assert result.cost_per_day is not None
        assert result.cost_per_day.before == result.cost_per_day.after
        assert result.traffic is not None
        assert result.traffic.calls == len(calls)
        assert result.traffic.calls_substituted >= 1
        assert result.traffic.input_tokens.before == result.traffic.input_tokens.after
        assert all(session.path == "" and session.rewritten_tokens == 0 for session in result.sessions)


def test_many_sessions_were_tried() -> None:
    sessions = {(name, call.session) for name in inputs() for call in calls_of(name)}
    assert len(sessions) >= 40
    assert len({name.split("/")[0] for name, _ in sessions}) >= 8
