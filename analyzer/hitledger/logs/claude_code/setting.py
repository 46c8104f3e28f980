"""What nearly all calls of an agent say alike: made once, and again where a row says something else."""

import re
from pathlib import PurePath
from sys import intern
from typing import Any

import msgspec
import orjson

from hitledger.logs.claude_code.figures import Figures, OtherFigures
from hitledger.logs.claude_code.row import Row
from hitledger.providers import provider_of
from hitledger.types import Parameter
from hitledger.usage import served_tier

BEDROCK_ID, VERTEX_ID = "msg_bdrk_", "msg_vrtx_"
CLOUD_IDS = (BEDROCK_ID, VERTEX_ID)
PURPOSES = {
    "compact": "compaction",
    "prompt_suggestion": "suggestion",
    "session_memory": "memory",
    "extract_memories": "memory",
    "side_question": "side_question",
}
AGENT_PURPOSE = re.compile(r"a([a-z_]+)-")


class Setting(msgspec.Struct, frozen=True, gc=False):
    """Fields of a call that do not depend on what was said in it."""

    session: str
    model: str
    provider: str  # by the name of the model
    parameters: tuple[Parameter, ...]
    project: str
    tier: str


class Settings:
    """The setting of one agent's last call, and what its row said."""

    __slots__ = ("_last", "_said", "agent", "file", "purpose")

    def __init__(self, file: str, agent: str) -> None:
        self.file = file
        self.agent = agent
        self.purpose = purpose_of(agent)
        self._said: tuple[Any, ...] | None = None
        self._last: Setting | None = None

    def of(self, row: Row[Any], figures: Figures | OtherFigures | None) -> Setting:
        """The setting that the first row of an answer tells, and its usage."""
        model = row.message.model if row.message is not None else None
        tier, place, speed = (
            (None, None, None) if figures is None else (figures.service_tier, figures.inference_geo, figures.speed)
        )
        said = (row.sessionId, row.cwd, row.effort, model, tier, place, speed)
        if said == self._said and self._last is not None:
            return self._last
        name = intern(str(model or ""))
        setting = self._last = Setting(
            intern(str(row.sessionId or PurePath(self.file).stem)),
            name,
            provider_of(name),
            _parameters(row.effort, speed),
            _last_part(row.cwd) if type(row.cwd) is str else "",
            served_tier({"service_tier": tier, "speed": speed, "inference_geo": place}),
        )
        # Only texts are compared with what the next row says: 1 and True are equal and not the same.
        self._said = said if all(value is None or type(value) is str for value in said) else None
        return setting


def cloud_of(identifier: str) -> str:
    """The cloud that served a call: both mark their ids."""
    return "bedrock" if identifier.startswith(BEDROCK_ID) else "vertex"


def purpose_of(agent: str) -> str:
    """What a side call is for: its agent is named after it (`acompact-…`)."""
    match = AGENT_PURPOSE.match(agent)
    return PURPOSES.get(match[1], match[1]) if match else ""


def _parameters(effort: Any, speed: Any) -> tuple[Parameter, ...]:
    found = []
    if isinstance(effort, str):
        found.append(Parameter("effort", "effort", orjson.dumps(effort).decode()))
    if isinstance(speed, str) and speed != "standard":  # standard is what a request without the field gets
        found.append(Parameter("speed", "message.usage.speed", orjson.dumps(speed).decode()))
    return tuple(found)


def _last_part(folder: str) -> str:
    """The name of the working folder without the path to it, which is nobody's business."""
    return re.split(r"[\\/]", folder.rstrip("\\/"))[-1]
