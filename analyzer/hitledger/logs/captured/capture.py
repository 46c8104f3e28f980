"""Captured exchanges as calls, each row accounted for: what the readers of captured traffic do alike."""

import orjson

from hitledger.logs.captured.continued import Continued
from hitledger.logs.captured.dialect import api_of, has_plain_prompt
from hitledger.logs.captured.exchange import Exchange, call_of
from hitledger.logs.captured.repeats import Repeats
from hitledger.logs.ingest import FileLedger
from hitledger.segments import Api, Layout
from hitledger.types import Call, Place

NO_CALL = "no model call"
SAME_CALL = "same call"
UNREADABLE = (
    RecursionError,
    orjson.JSONEncodeError,
)  # what laying out a body nested too deeply, or of odd text, raises


class Capture:
    """The calls of all files of one format: texts shared, calls that come twice counted once."""

    def __init__(self, *, ids_are_unique: bool = False) -> None:
        self.layout = Layout()
        self._repeats = Repeats(by_id=ids_are_unique)
        self._continued = Continued()

    def call(self, exchange: Exchange, place: Place, ledger: FileLedger) -> Call | None:
        """The call of one row, or None; the row is counted either way.

        Without a request body the call has usage only, where there is an answer to read it from.
        """
        body = exchange.request
        api = None if body is None else api_of(body, exchange.url)
        is_call = exchange.response is not None if body is None else api or has_plain_prompt(body, exchange.url)
        if not is_call:
            ledger.known(NO_CALL)
            return None
        return self.laid_out(self._continued.whole(exchange) if api is Api.RESPONSES else exchange, place, ledger, api)

    def laid_out(self, exchange: Exchange, place: Place, ledger: FileLedger, api: Api | None) -> Call | None:
        """The call under an API that is known; None where it was seen before or cannot be laid out."""
        try:
            call = call_of(exchange, place, self.layout, api)
        except UNREADABLE as error:
            ledger.skip(place.row, f"the body cannot be laid out: {error}")
            return None
        if self._repeats.has(call):
            ledger.known(SAME_CALL)
            return None
        for note in call.notes:
            ledger.note(note)
        ledger.call()
        return call
