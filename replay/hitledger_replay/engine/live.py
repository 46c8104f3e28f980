"""A sequence the engine is working on."""

from collections import deque
from dataclasses import dataclass, field

import torch

from hitledger_replay.admission import Admission
from hitledger_replay.engine.request import FirstToken, Request
from hitledger_replay.engine.sampling import Sampler
from hitledger_replay.sequence import Sequence


@dataclass(slots=True, eq=False)
class Clock:
    """Seconds spent until the first token."""

    arrived: float
    lookup: float = 0.0
    load: float = 0.0
    compute: float = 0.0
    sample: float = 0.0

    def stop(self, now: float) -> FirstToken:
        """What it came to."""
        known = self.lookup + self.load + self.compute + self.sample
        return FirstToken(self.lookup, self.load, self.compute, self.sample, max(0.0, now - self.arrived - known))


@dataclass(slots=True, eq=False)
class LiveSequence:
    """One sample of a request: its sequence in the cache, the tokens that wait for slots, and what it has said."""

    request: Request
    sequence: Sequence
    sampler: Sampler
    clock: Clock
    group: list["LiveSequence"] = field(default_factory=list)
    pending: deque[int] = field(default_factory=deque)
    output: list[int] = field(default_factory=list)
    admission: Admission | None = None
    first_token: FirstToken | None = None
    first_logits: torch.Tensor | None = None
    num_preemptions: int = 0
    num_copies: int = 0
    num_plain_decodes: int = 0
    done: bool = False

    @property
    def next_split(self) -> int:
        """The next offset the request wants prefill cut at, behind what is computed."""
        computed = self.sequence.num_computed_tokens
        return min((cut for cut in self.request.split_at if cut > computed), default=len(self.sequence))

    def emit(self, token_id: int) -> None:
        """Take a sampled token: it, or the logged reply in its place, waits for slots unless the sample is complete."""
        forced = self.request.forced_output
        new = list(forced) if forced and not self.output else [token_id]
        self.output.extend(new)
        limit = len(forced) or self.request.max_new_tokens
        if len(self.output) >= limit or self.output[-1] in self.request.stop_ids:
            self.done = True
            self.pending.extend(new[:-1])
        else:
            self.pending.extend(new)
