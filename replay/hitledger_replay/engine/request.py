"""What the engine is asked and what it answers. Token ids only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from hitledger_replay.engine.sampling import GREEDY, Sampling
from hitledger_replay.misses import MissReason
from hitledger_replay.moves import Tier


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt. Requests of one `session` run one after the other, in the order in which they were submitted.

    split_at       token offsets at which prefill is cut: no step computes across one
    forced_output  the reply as it was logged: these tokens follow the prompt instead of sampled ones (the first token
                   is sampled all the same, so the time to it is real)
    """

    id: str
    prompt: tuple[int, ...]
    session: str = ""
    max_new_tokens: int = 1
    sampling: Sampling = GREEDY
    num_samples: int = 1
    stop_ids: frozenset[int] = frozenset()
    split_at: tuple[int, ...] = ()
    forced_output: tuple[int, ...] = ()
    salt: str = ""


@dataclass(frozen=True, slots=True)
class FirstToken:
    """Seconds until the first token, by what they were spent on. `queue` is the rest of the wall time."""

    lookup: float
    load: float
    compute: float
    sample: float
    queue: float

    @property
    def ttft(self) -> float:
        """lookup + load + compute + sample; the queue is the concurrency's, not the prompt's."""
        return self.lookup + self.load + self.compute + self.sample


@dataclass(frozen=True, slots=True)
class RequestResult:
    """`num_cached_tokens` is what admission found; `misses` sum to the other tokens of the prompt."""

    id: str
    session: str
    num_prompt_tokens: int
    num_cached_tokens: int
    cached_by_tier: Mapping[Tier, int]
    misses: Mapping[MissReason, int]
    outputs: tuple[tuple[int, ...], ...]
    first_token: FirstToken
    num_preemptions: int
    num_copies: int
    tail_slots: int
    """Slots of the last block that the prompt leaves unfilled."""
    num_plain_decodes: int = 0
    """Decode steps that `decode_graphs` was asked to hold and could not, over all samples."""
    first_logits: torch.Tensor | None = field(default=None, compare=False)
    """(vocabulary,) in front of the first sampled token, if the engine keeps logits."""
