"""The calls to replay, in the order in which they were sent, each with its token ids."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hitledger.chains import linked
from hitledger.measurement import UnreplayedCall
from hitledger.policies.rules import shipped
from hitledger.time_order import in_time_order
from hitledger.types import Call, Certainty, Evidence
from hitledger_replay.sessions.provider_policy import ProviderPolicy
from hitledger_replay.sessions.render import PromptRenderer, RenderedPrompt, Rendering
from hitledger_replay.sessions.standin import scaled_ids

REFUSED = 400
BATCH = 32
"""Calls rendered at a time: one sandbox process for each template among them."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """`at` is seconds since the first call, on the log's clock. `predecessor` is the call whose messages it continues.

    Calls of different `partition` share nothing; a prompt of fewer tokens than `minimum` leaves nothing.
    """

    id: str
    session: str
    agent: str
    at: float
    predecessor: str | None
    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    reported_cache_read_tokens: int | None
    rendering: Rendering
    certainty: Certainty
    note: str
    partition: str = ""
    minimum: int = 0


class ReplayPlan:
    """Renders one call at a time, so a long session never lies in memory as token ids."""

    def __init__(
        self,
        calls: Sequence[Call],
        renderer: PromptRenderer,
        vocabulary_size: int,
        policy: ProviderPolicy | None = None,
        scale: float = 1.0,
    ) -> None:
        """`scale` below 1 shortens every prompt, keeping its proportions."""
        self.calls = calls
        self._renderer = renderer
        self._vocabulary_size = vocabulary_size
        self._policy = policy
        self.scale = scale
        self._rules = shipped()
        self._order = in_time_order(calls)
        links = linked(calls)
        self._predecessors = [None if link.predecessor is None else calls[link.predecessor].id for link in links]

    def __len__(self) -> int:
        return len(self.calls)

    def __iter__(self) -> Iterator[PlannedCall | UnreplayedCall]:
        first = min((call.started_at for call in self.calls if call.started_at), default=None)
        at = 0.0
        for start in range(0, len(self._order), BATCH):
            indices = self._order[start : start + BATCH]
            usable = [index for index in indices if not _reason_to_skip(self.calls[index])]
            prompts = self._renderer.prompts([self.calls[index] for index in usable])
            rendered = dict(zip(usable, prompts, strict=True))
            for index in indices:
                call = self.calls[index]
                if call.started_at is not None and first is not None:
                    at = (call.started_at - first).total_seconds()
                if index in rendered:
                    yield self._planned(index, rendered.pop(index), at)
                else:
                    yield UnreplayedCall(call.id, call.session, _reason_to_skip(call))

    def _planned(self, index: int, rendered: RenderedPrompt, at: float) -> PlannedCall:
        call, usage, policy = self.calls[index], self.calls[index].usage, self._policy
        scaled = f"scaled to {self.scale:.4g} of its length" if self.scale != 1 else ""
        return PlannedCall(
            id=call.id,
            session=call.session,
            agent=call.agent,
            at=at,
            predecessor=self._predecessors[index],
            prompt=self._sized(rendered.ids),
            reply=self._sized(self._renderer.reply(call)),
            reported_cache_read_tokens=usage.cache_read_tokens if usage is not None else None,
            rendering=rendered.rendering,
            certainty=Certainty.ESTIMATED if scaled else rendered.certainty,
            note="; ".join(note for note in (rendered.note, scaled) if note),
            partition=policy.partition(call) if policy else "",
            minimum=int(policy.minimum(call, self._rules) * self.scale) if policy else 0,
        )

    def _sized(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids if self.scale == 1 else scaled_ids(ids, self.scale, self._vocabulary_size)


def _reason_to_skip(call: Call) -> str:
    if call.status >= REFUSED:
        return f"refused with status {call.status}"
    if not call.prompt_ids and (call.evidence is Evidence.USAGE_ONLY or not len(call.prompt)):
        return "the log has no prompt"
    return ""
