"""HTTP recordings of nock, as Cline's tests keep them: responses without requests."""

from collections.abc import Iterator, Mapping
from typing import Any

from hitledger.logs.captured.dialect import api_of, is_response
from hitledger.logs.captured.sse import fold_text
from hitledger.logs.fields import count, dollars, first_text, items, mapping, text
from hitledger.logs.files import LogFile
from hitledger.logs.ingest import Ingest
from hitledger.logs.instants import instant
from hitledger.logs.values import opening, values
from hitledger.parameters import route_of
from hitledger.providers import provider_of
from hitledger.types import Call, Evidence, Place, Prompt
from hitledger.usage import read_usage, served_tier

FORMAT = "nock"
KEYS = frozenset({"scope", "method", "path", "status", "response"})


def sniff(file: LogFile) -> bool:
    """A list of recorded exchanges."""
    records = items(opening(file))
    return bool(records) and mapping(records[0]).keys() >= KEYS


def read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]:
    """Calls in recording order. The requests are not recorded, so there is usage and no prompt."""
    for file in files:
        ledger = ingest.open(file.name, FORMAT)
        for value in values(file, ledger):
            records = items(value.data)
            ledger.count_rows(len(records))
            for number, record in enumerate(map(mapping, records), 1):
                if value.cut and number == len(records):
                    ledger.skip(number, "the file ends inside this exchange")
                elif not record.keys() >= KEYS:
                    ledger.skip(number, "not a recorded exchange")
                elif (call := _call(file.name, number, record)) is None:
                    ledger.known("no model call")
                else:
                    ledger.call()
                    yield call


def _call(file: str, number: int, record: Mapping[str, Any]) -> Call | None:
    host = text(record.get("scope")).removeprefix("https://")
    api = api_of({}, f"https://{host}{text(record.get('path'))}")
    if api is None:
        return None
    status = count(record.get("status")) or 200
    body = _body(record.get("response"))
    logged = mapping(body.get("usage"))
    usage, notes = read_usage(logged) if status < 400 else (None, ())
    if status < 400 and usage is None:
        notes += ("usage_missing",)
    model = text(body.get("model"))
    return Call(
        id=first_text(body.get("id"), f"{file}:{number}"),
        session=file,
        agent="main",
        place=Place(file, number),
        provider=provider_of(model, host),
        model=model,
        evidence=Evidence.USAGE_ONLY,
        prompt=Prompt(()),
        api=api,
        started_at=instant(body.get("created")),
        status=status,
        served_model=model,
        usage=usage,
        route=route_of({}, host=host, upstream=text(body.get("provider"))),
        logged_cost=dollars(logged.get("market_cost")) or dollars(logged.get("cost")),
        tier=served_tier(logged, body),
        notes=("start_estimated", *notes),
    )


def _body(response: Any) -> Mapping[str, Any]:
    """The response as one body, whether it was streamed or not; empty where it is neither."""
    if isinstance(response, str):
        stream = fold_text(response)
        return stream.body if stream else {}
    return response if is_response(response) else {}
