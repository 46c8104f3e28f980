"""What is compared: a system prompt, a tool list or a whole request body, as segments and with the text of its file."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from hitledger.errors import UsageError
from hitledger.logs.captured.dialect import api_of_shape, model_of
from hitledger.parameters import parameters_of
from hitledger.providers import provider_of
from hitledger.segments import Api, Layout
from hitledger.types import Call, Evidence, Kind, Parameter, Place, Prompt, Tier, prompt_of

HEAD_KEYS = frozenset({"system", "tools", "messages"})
LISTS_OF_OBJECTS = ("contents", "input", "messages", "system", "tools")
OR_TEXT = frozenset({"input", "system"})


class MaterialKind(StrEnum):
    """What a prompt file, or what a renderer gives, is."""

    SYSTEM = "system prompt"
    TOOLS = "tool list"
    BODY = "request body"


@dataclass(frozen=True, slots=True)
class Material:
    """One text or value that becomes part of a request.

    `file` is the file that findings are shown in and `line` the line it starts on; `source` is the file's text, ""
    where a renderer made the value. `name` pairs it with the same part of the other side.
    """

    name: str
    kind: MaterialKind
    prompt: Prompt
    file: str
    source: str = ""
    line: int = 1
    model: str = ""
    provider: str = ""
    api: str = ""
    parameters: tuple[Parameter, ...] = ()

    @property
    def text(self) -> str:
        """The text of a system prompt."""
        return self.prompt.own[0].text or "" if self.kind is MaterialKind.SYSTEM else ""


def material_of_text(text: str, name: str, file: str) -> Material:
    """A file's content: JSON by its name is a tool list or a request body, anything else is a system prompt.

    Raises UsageError where a JSON file is not valid JSON or is neither of the two.
    """
    if not file.endswith(".json"):
        return _system(text, name, file, text)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{file}:{error.lineno}: not valid JSON: {error.msg}") from error
    return material_of_value(value, name, file, text)


def material_of_value(value: Any, name: str, file: str, source: str = "", line: int = 1) -> Material:
    """A value: a string is a system prompt, a list is tools, an object is a request body. Raises UsageError."""
    if isinstance(value, str):
        return _system(value, name, file, source, line)
    if isinstance(value, list):
        return _tools(value, name, file, source, line)
    if not isinstance(value, Mapping):
        raise UsageError(f"{file}: gives {_type(value)}; a system prompt (text), tools (a list) or a request body fits")
    if "tools" in value and not HEAD_KEYS & (value.keys() - {"tools"}) and isinstance(value["tools"], list):
        return _tools(value["tools"], name, file, source, line)
    _refuse_malformed(value, file)
    api = api_of_shape(value) or (Api.MESSAGES if "system" in value else None)
    if api is None:
        raise UsageError(f"{file}: an object that is neither a request body nor a list of tools")
    model = model_of(value)
    return Material(
        name,
        MaterialKind.BODY,
        _laid_out(value, api, file),
        file,
        source,
        line,
        model,
        provider_of(model, ""),
        str(api),
        parameters_of(value),
    )


def call_of(material: Material) -> Call:
    """The material as a call without a time, so that the newest rule judges it."""
    return Call(
        id=material.name,
        session=material.name,
        agent="main",
        place=Place(material.file, material.line),
        provider=material.provider,
        model=material.model,
        evidence=Evidence.EXACT,
        prompt=material.prompt,
        api=material.api,
        parameters=material.parameters,
    )


def _system(text: str, name: str, file: str, source: str, line: int = 1) -> Material:
    if not text.strip():
        raise UsageError(f"{file}: an empty system prompt")
    segment = Layout().text(text, Kind.SYSTEM, Tier.SYSTEM, "system", "system")
    return Material(name, MaterialKind.SYSTEM, prompt_of((segment,)), file, source, line)


def _tools(tools: list[Any], name: str, file: str, source: str, line: int) -> Material:
    if not tools or not all(isinstance(tool, Mapping) for tool in tools):
        raise UsageError(f"{file}: a list of tools holds objects, at least one")
    if any("role" in tool and "content" in tool for tool in tools):
        raise UsageError(f"{file}: a list of messages; give the whole request body")
    return Material(name, MaterialKind.TOOLS, _laid_out({"tools": tools}, Api.MESSAGES, file), file, source, line)


def _refuse_malformed(body: Mapping[str, Any], file: str) -> None:
    for name in LISTS_OF_OBJECTS:
        value = body.get(name)
        if value is None or (isinstance(value, str) and name in OR_TEXT):
            continue
        if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
            raise UsageError(f"{file}: `{name}` is no list of objects")


def _laid_out(body: Mapping[str, Any], api: Api, file: str) -> Prompt:
    try:
        return Layout().prompt(body, api)
    except (RecursionError, orjson.JSONEncodeError) as error:
        raise UsageError(f"{file}: cannot be laid out as a prompt: {error}") from error


def _type(value: Any) -> str:
    return "null" if value is None else type(value).__name__
