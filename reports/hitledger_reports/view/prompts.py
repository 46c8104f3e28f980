"""The segments of a call's whole prompt, put together again from what each call adds to its predecessor's."""

from hitledger.results import CallResult, SegmentResult


class Prompts:
    """Looks prompts up by call; a chain is followed once and remembered."""

    def __init__(self, calls: dict[str, CallResult]) -> None:
        self._calls = calls
        self._known: dict[str, tuple[SegmentResult, ...]] = {}

    def segments(self, call: CallResult) -> tuple[SegmentResult, ...]:
        """All segments of the prompt, first to last."""
        chain = [call]
        seen = {call.id}
        while chain[-1].id not in self._known and chain[-1].shared_segments and chain[-1].predecessor:
            earlier = self._calls.get(chain[-1].predecessor)
            if earlier is None or earlier.id in seen:
                break
            seen.add(earlier.id)
            chain.append(earlier)
        for one in reversed(chain):
            if one.id not in self._known:
                base = self._known.get(one.predecessor or "", ()) if one.shared_segments else ()
                self._known[one.id] = base[: one.shared_segments] + one.segments
        return self._known[call.id]
