"""Which full blocks have slots but are not computed yet: another sequence that wants them has to compute them too."""

from collections import Counter
from collections.abc import Hashable, Mapping

from hitledger_replay.sequence import Sequence


class InFlight:
    """Counts, for each hash, the running sequences that are about to compute it."""

    def __init__(self) -> None:
        self._counts: Counter[Hashable] = Counter()
        self._spans: dict[str, tuple[int, int]] = {}

    @property
    def hashes(self) -> Mapping[Hashable, int]:
        """Every hash some sequence is computing."""
        return self._counts

    def track(self, seq: Sequence) -> None:
        """Take note of the sequence's progress: its blocks from the first uncomputed to the last full, allocated one."""
        span = (seq.num_computed_tokens // seq.block_size, min(len(seq.block_hashes), len(seq.block_table)))
        if span == self._spans.get(seq.seq_id):
            return
        self.untrack(seq)
        if span[0] < span[1]:
            self._counts.update(seq.block_hashes[span[0] : span[1]])
            self._spans[seq.seq_id] = span

    def untrack(self, seq: Sequence) -> None:
        """The sequence computes nothing any more."""
        first, last = self._spans.pop(seq.seq_id, (0, 0))
        for content in seq.block_hashes[first:last]:
            self._counts[content] -= 1
            if not self._counts[content]:
                del self._counts[content]
