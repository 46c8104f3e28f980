"""Request body -> segments in the order the provider lays them out, one copy of each distinct segment."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import blake2b
from sys import intern
from typing import Any

from hitledger.layouts import chat, converse, generate_content, messages, responses
from hitledger.layouts.blocks import Piece, pieces_of_content
from hitledger.types import Kind, Prompt, Segment, Tier, prompt_of

IDS_PER_SEGMENT = 16  # exact token ids are cut finely enough to share a prefix, coarsely enough to stay few


class Api(StrEnum):
    """The request shapes that we can lay out."""

    MESSAGES = "messages"
    CHAT = "chat"
    RESPONSES = "responses"
    CONVERSE = "converse"
    GENERATE_CONTENT = "generate-content"


_PIECES: dict[Api, Callable[[Mapping[str, Any]], list[Piece]]] = {
    Api.MESSAGES: messages.pieces,
    Api.CHAT: chat.pieces,
    Api.RESPONSES: responses.pieces,
    Api.CONVERSE: converse.pieces,
    Api.GENERATE_CONTENT: generate_content.pieces,
}


class Layout:
    """Cuts bodies into segments. Texts that come again share one Segment, so memory follows the unique text.

    With `keep_text=False` (transcripts) a segment keeps only the digest and the length of its text.
    """

    def __init__(self, keep_text: bool = True) -> None:
        self.keep_text = keep_text
        self._seen: dict[tuple[bytes, str, str | None, bool], Segment] = {}

    def prompt(self, body: Mapping[str, Any], api: Api) -> Prompt:
        """The whole prompt of a request body. Parts of the wrong type are laid out as their JSON, never refused."""
        return prompt_of(self._segments(_PIECES[api](body)))

    def blocks(self, content: Any, role: str, path: str, api: Api = Api.MESSAGES) -> tuple[Segment, ...]:
        """One message's content (a string or a list of blocks at `path[i]`); a Responses item for that API."""
        if api is Api.RESPONSES:
            return self._segments(responses.item_pieces(content, path))
        if api is Api.CHAT and isinstance(content, Mapping):
            return self._segments(chat.message_pieces(content, path, role, Tier.MESSAGES))
        return self._segments(pieces_of_content(content, path, role, Tier.MESSAGES))

    def text(self, text: str, kind: Kind, tier: Tier, path: str, role: str) -> Segment:
        """A single segment."""
        return self._segment(Piece(kind, tier, path, role, text, None, tier is Tier.MESSAGES))

    def token_ids(self, ids: Sequence[int], path: str = "prompt_token_ids") -> Prompt:
        """Exact token ids as segments of 16, so that prompts which share a prefix share segments."""
        pieces = [
            Piece(
                Kind.TOKENS,
                Tier.MESSAGES,
                f"{path}[{start}]",
                "",
                ",".join(map(str, ids[start : start + IDS_PER_SEGMENT])),
            )
            for start in range(0, len(ids), IDS_PER_SEGMENT)
        ]
        return prompt_of(self._segments(pieces))

    def _segments(self, pieces: Iterable[Piece]) -> tuple[Segment, ...]:
        return tuple(self._segment(piece) for piece in pieces)

    def _segment(self, piece: Piece) -> Segment:
        digest = digest_of(piece.kind, piece.role, piece.text)
        key = (digest, piece.path, piece.mark, piece.opens_message)
        found = self._seen.get(key) if self.keep_text else None
        if found is None:
            found = Segment(
                piece.kind,
                piece.tier,
                intern(piece.path),
                piece.role,
                digest,
                len(piece.text),
                piece.text if self.keep_text else None,
                piece.mark,
                piece.opens_message,
                piece.name,
            )
            if self.keep_text:
                self._seen[key] = found
        return found


def digest_of(kind: Kind, role: str, text: str) -> bytes:
    """16 bytes that are equal only for the same content in the same role."""
    return blake2b(f"{kind}\0{role}\0{text}".encode(errors="surrogatepass"), digest_size=16).digest()


def hidden(chars: int = 0, label: str = "system prompt and tools") -> Segment:
    """The part of a prompt that a log does not hold; calls with the same label are taken to share it."""
    return Segment(Kind.HIDDEN, Tier.SYSTEM, "", "system", digest_of(Kind.HIDDEN, "system", label), chars, None)


def hidden_head(format_name: str) -> Prompt:
    """A transcript's prompt before its first message: system prompt and tools, which the log does not hold."""
    return prompt_of((hidden(label=f"{format_name}: system prompt and tools"),))


def in_order(prompt: Prompt, order: tuple[Tier, ...]) -> Prompt:
    """The same segments with the tiers in another order (DeepSeek, MiniMax lay system before tools)."""
    segments = prompt.segments()
    ordered = tuple(sorted(segments, key=lambda segment: order.index(segment.tier)))
    return prompt if ordered == segments else prompt_of(ordered)
