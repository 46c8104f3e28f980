"""Lifecycle events as JSON lines, block events in vLLM's KV event shapes (`BlockStored`, `BlockRemoved`, …).

vLLM's names and media (GPU, CPU, STORAGE; vllm/distributed/kv_events.py). Token ids are left out: an event log must
not carry prompts. Lifecycle steps that vLLM has no event for are `SequenceEvent`s.
"""

import json
from typing import TextIO

from hitledger_replay.events import AllBlocksCleared, BlockRemoved, BlockStored, CacheEvent
from hitledger_replay.moves import Tier

MEDIA = {Tier.DEVICE: "GPU", Tier.HOST: "CPU", Tier.DISK: "STORAGE"}


class EventLog:
    """Writes each event as it comes, numbered from 0; there is no clock in it."""

    def __init__(self, file: TextIO, block_size: int) -> None:
        self._file = file
        self._block_size = block_size
        self._number = 0

    def __call__(self, event: CacheEvent) -> None:
        """The cache's listener."""
        self._file.write(json.dumps({"number": self._number, **self._fields(event)}, sort_keys=True) + "\n")
        self._number += 1

    def _fields(self, event: CacheEvent) -> dict[str, object]:
        match event:
            case BlockStored(block_hash, parent, _, medium):
                return {
                    "type": "BlockStored",
                    "block_hashes": [_hex(block_hash)],
                    "parent_block_hash": None if parent is None else _hex(parent),
                    "block_size": self._block_size,
                    "lora_id": None,
                    "medium": MEDIA[medium],
                }
            case BlockRemoved(block_hash, _, medium):
                return {"type": "BlockRemoved", "block_hashes": [_hex(block_hash)], "medium": MEDIA[medium]}
            case AllBlocksCleared():
                return {"type": "AllBlocksCleared"}
            case _:
                return {
                    "type": "SequenceEvent",
                    "stage": event.stage.value,
                    "request_id": event.seq_id,
                    "num_tokens": event.num_tokens,
                    "block_ids": list(event.block_ids),
                }


def _hex(content: object) -> str:
    return content.hex() if isinstance(content, bytes) else str(content)
