"""The tools of a call among the attributes of its span, under the names of several instrumentations."""

from collections.abc import Mapping
from typing import Any

from hitledger.logs.fields import items, text
from hitledger.logs.spans.messages import indexed, parsed

DEFINITIONS = ("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools")
PYDANTIC_AI = "model_request_parameters"
PYDANTIC_AI_LISTS = ("function_tools", "builtin_tools", "output_tools")
VERCEL_TEXT = ("ai.generateText", "ai.streamText")  # these record their tools whenever there are any


def tools_in(attributes: Mapping[str, Any]) -> tuple[list[Any], bool]:
    """The tool definitions, and whether the attributes say which there were (an empty list can be known)."""
    for name in DEFINITIONS:
        given = parsed(attributes.get(name))
        if isinstance(given, list):
            return [parsed(tool) for tool in given], True
    if found := [parsed(tool.get("tool", tool).get("json_schema")) for tool in indexed(attributes, "llm.tools")]:
        return found, True
    parameters = parsed(attributes.get(PYDANTIC_AI))
    if isinstance(parameters, Mapping):
        tools = [tool for name in PYDANTIC_AI_LISTS for tool in items(parameters.get(name))]
        return tools, not parameters.get("output_object")  # an output schema stands in the prompt too
    if functions := indexed(attributes, "llm.request.functions"):
        return functions, True
    return [], text(attributes.get("ai.operationId")).startswith(VERCEL_TEXT)
