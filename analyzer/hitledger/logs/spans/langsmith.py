"""LangSmith runs as spans. `usage_metadata` counts cached tokens inside `input_tokens` and says so by its names."""

from collections.abc import Mapping
from typing import Any

from hitledger.logs.captured.dialect import is_request
from hitledger.logs.fields import dollars, first_text, items, mapping, text
from hitledger.logs.instants import instant
from hitledger.logs.spans.messages import chat_messages
from hitledger.logs.spans.request import Request, error_status
from hitledger.logs.spans.span import Role, Span
from hitledger.segments import Api

FORMAT = "langsmith"
RUN = "langsmith.run"
ROLES = {"llm": Role.CALL, "tool": Role.TOOL, "embedding": Role.EMBEDDING}
SESSION_KEYS = ("session_id", "thread_id", "conversation_id")


def run_id(run: Mapping[str, Any]) -> str:
    """The id of a run; a patch of the JavaScript SDK has it only at the end of `dotted_order`."""
    return text(run.get("id")) or text(run.get("dotted_order")).rpartition("Z")[2]


def span_of(run: Mapping[str, Any]) -> Span:
    """A run, its post and patch merged."""
    events = items(run.get("events"))
    return Span(
        trace=text(run.get("trace_id")) or run_id(run),
        id=run_id(run),
        parent=text(run.get("parent_run_id")),
        name=text(run.get("name")),
        attributes={RUN: run, "first_token": next((e for e in events if mapping(e).get("name") == "new_token"), None)},
        scope=FORMAT,
        started_at=instant(run.get("start_time")),
        ended_at=instant(run.get("end_time")),
        failed=bool(run.get("error")),
    )


def wrote(span: Span) -> bool:
    """Whether the span is a run."""
    return RUN in span.attributes


def role(span: Span) -> Role:
    """What the run is; agents are chains in LangSmith."""
    return ROLES.get(text(span.attributes[RUN].get("run_type")), Role.OTHER)


def usage(span: Span) -> Mapping[str, Any]:
    """The figures of the outputs, wherever the integration puts them."""
    outputs = mapping(span.attributes[RUN].get("outputs"))
    message = _message(outputs)
    llm_output = mapping(outputs.get("llm_output"))
    found = (
        outputs.get("usage_metadata"),
        outputs.get("usage"),
        message.get("usage_metadata"),
        mapping(message.get("response_metadata")).get("token_usage"),
        llm_output.get("token_usage"),
        llm_output.get("usage"),
    )
    return next((figures for figures in found if isinstance(figures, Mapping) and figures), {})


def _message(outputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer in LangChain's outputs: `generations[0][0].message`, serialized or not."""
    first: Any = outputs.get("generations")
    while isinstance(first, list) and first:
        first = first[0]
    message = mapping(mapping(first).get("message"))
    return mapping(message.get("kwargs")) or message


def request(span: Span) -> Request:
    """The call in the run."""
    run = span.attributes[RUN]
    extra, outputs = mapping(run.get("extra")), mapping(run.get("outputs"))
    metadata, asked = mapping(extra.get("metadata")), mapping(extra.get("invocation_params"))
    inputs = mapping(run.get("inputs"))
    api: Api | None = None
    if is_request(inputs):
        body: dict[str, Any] = {key: value for key, value in inputs.items() if value is not None}
    else:
        body = {**asked, "messages": chat_messages(inputs.get("messages"))}
        api = Api.CHAT
    answer = _message(outputs)
    answered = mapping(answer.get("response_metadata"))
    return Request(
        body=body,
        usage=usage(span),
        complete=is_request(inputs) or bool(asked and body["messages"]),
        api=api,
        model=first_text(
            inputs.get("model"), asked.get("model"), asked.get("model_name"), metadata.get("ls_model_name")
        ),
        served_model=first_text(outputs.get("model"), answered.get("model_name"), answered.get("model")),
        provider=text(metadata.get("ls_provider")),
        id=first_text(outputs.get("id"), span.id),
        session=first_text(*(metadata.get(key) for key in SESSION_KEYS)),
        status=error_status(text(run.get("error"))) if span.failed else 200,
        first_token_at=instant(mapping(span.attributes.get("first_token")).get("time")),
        cost=dollars(run.get("total_cost")),
        generated=_generated(outputs, answer),
    )


def _generated(outputs: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    choice = mapping(next(iter(items(outputs.get("choices"))), None))
    for content in (mapping(choice.get("message")).get("content"), answer.get("content")):
        if isinstance(content, str):
            return content
    return None
