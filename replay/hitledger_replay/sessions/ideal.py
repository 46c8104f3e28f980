"""What a call would have reused had all that its predecessor left been there, whatever was measured or expected."""

from hitledger_replay.sessions.plan import PlannedCall


class IdealReads:
    """Remembers what each call leaves readable, in tokens of whole blocks."""

    def __init__(self, block_size: int) -> None:
        self._size = block_size
        self._left: dict[str, int] = {}

    def leave(self, call: PlannedCall, tokens: int) -> None:
        """`call` leaves so many tokens readable."""
        self._left[call.id] = tokens

    def of(self, call: PlannedCall, measured: int) -> int:
        """What its predecessor left, in whole blocks in front of the prompt's last token; at least what was measured."""
        most = (len(call.prompt) - 1) // self._size * self._size
        return max(measured, min(self._left.get(call.predecessor or "", 0), most))
