"""The allocator that paging replaced: one contiguous region of the maximum length for each request.

Three wastes (Kwon et al., SOSP'23, section 3): slots kept for tokens that will come, slots for tokens that will never
come, and holes between regions that fit no region.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum

from hitledger_replay.blocks import blocks_for


class ReservePolicy(StrEnum):
    """How long the region is: the model's maximum, the next power of two, or the length known in advance."""

    MAX = "max"
    POW2 = "pow2"
    ORACLE = "oracle"


@dataclass(frozen=True, slots=True)
class Reservation:
    """Tokens: `live` are stored, `to_come` will be, `never` will not, `external` lies between regions."""

    live: int
    to_come: int
    never: int
    external: int

    def __add__(self, other: "Reservation") -> "Reservation":
        """Two memories beside each other."""
        return Reservation(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @property
    def reserved(self) -> int:
        """All slots taken from the memory."""
        return self.live + self.to_come + self.never + self.external

    @property
    def utilisation(self) -> float:
        """Share of the memory that holds tokens; 1 for an empty memory."""
        return self.live / self.reserved if self.reserved else 1.0


def region(final_tokens: int, policy: ReservePolicy, max_tokens: int) -> int:
    """Slots reserved for a request that ends at `final_tokens`."""
    if policy is ReservePolicy.MAX:
        return max_tokens
    if policy is ReservePolicy.ORACLE:
        return final_tokens
    return min(max_tokens, 1 << (final_tokens - 1).bit_length())


def reserve(
    requests: Iterable[tuple[int, int]], policy: ReservePolicy, max_tokens: int, memory_tokens: int | None = None
) -> Reservation:
    """Place requests of (tokens now, tokens at the end) side by side until the memory is full.

    Without `memory_tokens` there is room for all. What is left at the end and fits no further region is external waste.
    """
    live = to_come = never = used = 0
    for now, final in requests:
        size = region(final, policy, max_tokens)
        if memory_tokens is not None and used + size > memory_tokens:
            return Reservation(live, to_come, never, memory_tokens - used)
        used += size
        live, to_come, never = live + now, to_come + final - now, never + size - final
    return Reservation(live, to_come, never, 0)


def paged(lengths: Sequence[int], block_size: int) -> Reservation:
    """The same tokens in blocks: only the last block of each sequence has empty slots."""
    slots = sum(blocks_for(length, block_size) * block_size for length in lengths)
    return Reservation(sum(lengths), 0, slots - sum(lengths), 0)


def expected_tail_waste(mean_tokens: float, block_size: int) -> float:
    """Share of the slots that is empty if lengths end anywhere in a block: (B/2) / (mean + B/2)."""
    return block_size / 2 / (mean_tokens + block_size / 2)
