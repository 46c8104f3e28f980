"""Responses calls that name the answer they continue: the prompt is put together from the calls before."""

from dataclasses import replace
from typing import Any

from hitledger.logs.captured.exchange import Exchange
from hitledger.logs.fields import items, mapping, text

LINK = "previous_response_id"
NOTE = "prompt_rebuilt"


class Continued:
    """Remembers the items of each answered call of the Responses API.

    With `previous_response_id` the server puts the earlier input and output in front of the new input; instructions
    and tools are those of the new request alone (OpenAI, "Conversation state"). Paths count in the joined input.
    """

    def __init__(self) -> None:
        self._items: dict[str, list[Any]] = {}

    def whole(self, exchange: Exchange) -> Exchange:
        """The exchange with its full input, unchanged where it continues none that was seen."""
        body = exchange.request
        if body is None or "input" not in body:
            return exchange
        before = self._items.get(text(body.get(LINK)))
        given = _input_items(body.get("input"))
        if before is not None:
            kept = {key: value for key, value in body.items() if key != LINK}
            given = before + given
            exchange = replace(exchange, request={**kept, "input": given}, notes=(*exchange.notes, NOTE))
        answer = mapping(exchange.response)
        if answer.get("id") and (before is not None or not body.get(LINK)):
            self._items[text(answer["id"])] = given + items(answer.get("output"))
        return exchange


def _input_items(value: Any) -> list[Any]:
    return [{"role": "user", "content": value}] if isinstance(value, str) else items(value)
