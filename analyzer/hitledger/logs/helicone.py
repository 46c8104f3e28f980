"""Helicone exports: rows of the request log with the bodies (`npx @helicone/export --include-body`), or of its tables.

`prompt_tokens` holds what the provider calls input, so its convention is the provider's; the response body's own usage
is taken where the row has it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.captured.answers import text_of, usage_object
from hitledger.logs.captured.dialect import api_of
from hitledger.logs.captured.payloads import payload_of
from hitledger.logs.captured.turns import opens_turn
from hitledger.logs.fields import count, dollars, first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.instants import after, instant
from hitledger.logs.records import numbered
from hitledger.logs.values import opening, values
from hitledger.parameters import parameters_of, route_of
from hitledger.providers import provider_of
from hitledger.segments import Layout
from hitledger.types import Call, Evidence, Place, Prompt
from hitledger.usage import read_usage, served_tier

FORMAT = "helicone"
FIGURES = ("prompt_tokens", "completion_tokens", "prompt_cache_read_tokens", "prompt_cache_write_tokens")
EXCLUSIVE = frozenset({"anthropic", "bedrock"})
NO_REFERENCE = "00000000-0000-0000-0000-000000000000"
SESSION = "helicone-session-id"


def sniff(file: LogFile) -> bool:
    """Whether its first record is a row of the request log."""
    return any(_is_row(record) for record in _records(opening(file))[:1])


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """One call a row; a request that is in two files counts once."""
    seen: set[str] = set()
    layout = Layout()
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            for row, record in numbered(_records(value.data), value.cut, ledger, "row"):
                if not _is_row(record):
                    ledger.skip(row, "no row of Helicone's request log")
                elif (record_id := str(record["request_id"])) in seen:
                    ledger.known("same call")
                elif _answered_by_gateway(record):
                    ledger.known("answered by the gateway's own cache")
                else:
                    seen.add(record_id)
                    ledger.call()
                    call = _call(record, Place(file.name, row), layout)
                    for note in call.notes:
                        ledger.note(note)
                    yield call


def _records(value: Any) -> list[Any]:
    return value if isinstance(value, list) else items(mapping(value).get("data")) or [value]


def _is_row(record: Any) -> bool:
    return isinstance(record, Mapping) and {"request_id", "request_created_at"} <= record.keys()


def _answered_by_gateway(record: Mapping[str, Any]) -> bool:
    return text(record.get("cache_reference_id")) not in ("", NO_REFERENCE)


def _call(record: Mapping[str, Any], place: Place, layout: Layout) -> Call:
    sent, answered = payload_of(record.get("request_body")), payload_of(record.get("response_body"))
    body, response = sent.body or {}, answered.body or {}
    url = first_text(record.get("target_url"), record.get("request_path"))
    api = api_of(body, url)
    prompt = layout.prompt(body, api) if api else Prompt(())
    model = first_text(record.get("request_model"), record.get("model"), body.get("model"))
    provider = provider_of(model, text(record.get("provider")).lower())
    own = usage_object(response)
    figures = {name: record[name] for name in FIGURES if count(record.get(name)) is not None}
    status = count(record.get("response_status", record.get("status"))) or 200
    usage, notes = read_usage(own) if own else read_usage(figures, inclusive=provider not in EXCLUSIVE)
    usage, notes = (None, ()) if status >= 400 else (usage, notes)  # the table has zeros there
    started = instant(record.get("request_created_at"))
    properties = mapping(record.get("request_properties")) or mapping(record.get("properties"))
    return Call(
        id=first_text(response.get("id"), record.get("request_id")),
        session=_session(properties) or (place.file if len(prompt) else str(record["request_id"])),
        agent="main",
        place=place,
        provider=provider,
        model=model,
        served_model=first_text(record.get("response_model"), response.get("model")),
        evidence=Evidence.EXACT if len(prompt) else Evidence.USAGE_ONLY,
        prompt=prompt,
        api=api or "" if len(prompt) else "",
        started_at=started,
        first_token_at=after(started, record.get("time_to_first_token") or None),
        ended_at=after(started, record.get("delay_ms", record.get("latency"))),
        status=status,
        usage=usage,
        parameters=parameters_of(body),
        route=route_of(body),
        logged_cost=dollars(record.get("cost", record.get("costUSD"))),
        generated_text=text_of(response),
        events=("user_turn",) if api and opens_turn(body, api) else (),
        tier=served_tier(own or {}, response),
        notes=(*sent.notes, *answered.notes, *notes, *_missing(usage is None and not notes and status < 400)),
    )


def _missing(is_missing: bool) -> tuple[str, ...]:
    return ("usage_missing",) if is_missing else ()


def _session(properties: Mapping[str, Any]) -> str:
    return next((text(value) for name, value in properties.items() if str(name).lower() == SESSION), "")
