"""A call's prompt as token ids for a given model: the log's own ids, its rendered text, or stand-ins of its length."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hitledger.positions import Positions
from hitledger.tokens import TokenCounter
from hitledger.types import Call, Certainty, Kind, Segment
from hitledger_replay.errors import ReplayError
from hitledger_replay.models.loaded import TextTokenizer
from hitledger_replay.sessions.standin import standin_ids
from hitledger_replay.sessions.templating import rendered_texts


class Rendering(StrEnum):
    """Where a prompt's token ids come from."""

    TOKEN_IDS = "token ids"
    """As the log has them."""
    TEMPLATE = "chat template"
    TEXT = "text"
    """Segment after segment, with the roles between; no template was applied."""
    STAND_IN = "stand-in"
    """At least one part's text is not in the log; its ids are noise of the right length."""


class RenderMode(StrEnum):
    """What the user asked for. AUTO: the template of the log's engine or of the model, if there is one."""

    AUTO = "auto"
    TEMPLATE = "template"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """`certainty` is of the length: exact for what was logged, else as good as the counts behind it."""

    ids: tuple[int, ...]
    rendering: Rendering
    certainty: Certainty
    note: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The model that prompts are rendered for."""

    tokenizer: TextTokenizer
    vocabulary_size: int
    chat_template: str | None
    special_tokens: dict[str, str]


class PromptRenderer:
    """Remembers what it has tokenized: a segment is done once, however often it is sent."""

    def __init__(self, target: Target, mode: RenderMode = RenderMode.AUTO) -> None:
        self._target = target
        self._mode = mode
        self._positions = Positions(TokenCounter())
        self._ids: dict[tuple[bytes, bool], tuple[int, ...]] = {}

    def prompts(self, calls: Sequence[Call]) -> list[RenderedPrompt]:
        """One for each call. Raises ReplayError if a template was asked for and there is none, or it fails."""
        templated = [(call, template) for call in calls if (template := self._template_for(call)) is not None]
        texts = rendered_texts(templated, self._target.special_tokens)
        by_template = {id(call): text for (call, _), text in zip(templated, texts, strict=True)}
        return [self._prompt(call, by_template.get(id(call))) for call in calls]

    def _prompt(self, call: Call, text: str | None) -> RenderedPrompt:
        if call.prompt_ids:
            note = "" if max(call.prompt_ids) < self._target.vocabulary_size else "ids modulo the model's vocabulary"
            ids = tuple(token % self._target.vocabulary_size for token in call.prompt_ids)
            return RenderedPrompt(ids, Rendering.TOKEN_IDS, Certainty.EXACT, note)
        if text is not None:
            return RenderedPrompt(self._target.tokenizer.ids(text), Rendering.TEMPLATE, Certainty.CALIBRATED)
        return self._by_segments(call)

    def reply(self, call: Call) -> tuple[int, ...]:
        """The tokens the engine generated, where the log has them as they were; an engine keeps them cached.

        A reply's text stands for its tokens only if the log says that its engine cached them: a tool call, say, is
        rendered in another form than it was generated in.
        """
        if call.generated_ids and call.prompt_ids:
            return tuple(token % self._target.vocabulary_size for token in call.generated_ids)
        cached = call.engine is not None and call.engine.caches_generated_tokens
        return self._target.tokenizer.ids(call.generated_text) if cached and call.generated_text else ()

    def _template_for(self, call: Call) -> str | None:
        """The template to render this call with, None for one that is laid out segment by segment."""
        if self._mode is RenderMode.TEXT or call.prompt_ids:
            return None
        template = (call.engine.chat_template if call.engine else None) or self._target.chat_template
        if template is None and self._mode is RenderMode.TEMPLATE:
            raise ReplayError("this model has no chat template; use --render text")
        return template if all(_has_text(segment) for segment in call.prompt.segments()) else None

    def _by_segments(self, call: Call) -> RenderedPrompt:
        at = self._positions.of(call, call.prompt, ())
        segments = call.prompt.segments()
        ids: list[int] = []
        for index, segment in enumerate(segments):
            ids.extend(self._segment(segment, at, index))
        hollow = [segment for segment in segments if not _has_text(segment)]
        if not hollow:
            return RenderedPrompt(tuple(ids), Rendering.TEXT, Certainty.CALIBRATED)
        certainty = Certainty.CALIBRATED if call.usage is not None else Certainty.ESTIMATED
        kinds = ", ".join(sorted({segment.kind.value for segment in hollow}))
        return RenderedPrompt(tuple(ids), Rendering.STAND_IN, certainty, f"stand-ins for: {kinds}")

    def _segment(self, segment: Segment, at: Callable[[int], int], index: int) -> tuple[int, ...]:
        key = (segment.digest, segment.opens_message)
        if key not in self._ids:
            if _has_text(segment):
                head = f"\n{segment.role}:\n" if segment.opens_message else "\n"
                self._ids[key] = self._target.tokenizer.ids(head + (segment.text or ""))
            else:
                count = max(0, at(index + 1) - at(index))
                self._ids[key] = standin_ids(segment.digest, count, self._target.vocabulary_size)
        return self._ids[key]


def _has_text(segment: Segment) -> bool:
    return segment.text is not None and segment.kind not in (Kind.IMAGE, Kind.DOCUMENT, Kind.HIDDEN)
