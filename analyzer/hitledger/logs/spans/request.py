"""What a dialect finds in the span of one model call."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from hitledger.logs.spans.span import Span
from hitledger.segments import Api

STATUS_IN_TEXT = re.compile(r"(?:code|status|http)[^\d\n]{0,12}([45]\d\d)\b", re.IGNORECASE)
ERRORS = {
    "ratelimit": 429,
    "badrequest": 400,
    "authentication": 401,
    "permission": 403,
    "notfound": 404,
    "timeout": 408,
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request and its response. `complete` says that system prompt and tools are in the body, or proven absent."""

    body: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)  # as the span names the figures
    complete: bool = False
    api: Api | None = None  # None: by the shape of the body
    model: str = ""
    served_model: str = ""
    provider: str = ""  # as the log calls it
    host: str = ""
    id: str = ""
    session: str = ""
    status: int = 200
    first_token_at: datetime | None = None
    cost: Decimal | None = None
    generated: str | None = None
    inclusive: bool | None = None  # the writer's convention where nothing in the figures proves one
    notes: tuple[str, ...] = ()


def status_of(span: Span) -> int:
    """The HTTP status: logged, else by the name of the error, else 500 for a failed span and 200 for any other."""
    for name in ("http.response.status_code", "http.status_code", "error.type"):
        value = span.attributes.get(name)
        number = int(value) if isinstance(value, int | str) and str(value).isdecimal() and len(str(value)) == 3 else 0
        if 100 <= number < 600:
            return number
    if not span.failed:
        return 200
    error = span.text("error.type", "exception.type")
    for event in span.events:
        error += str(event.attributes.get("exception.type", ""))
    return error_status(error)


def error_status(error: str) -> int:
    """The HTTP status that the text of an error speaks of, 500 where it speaks of none."""
    if found := STATUS_IN_TEXT.search(error):
        return int(found[1])
    name = error.lower().replace("_", "").replace(" ", "")
    return next((status for known, status in ERRORS.items() if known in name), 500)
