"""Token ids where the log has none: the right number of them, the same for the same content.

Two prompts that share segments then share a prefix of ids, and cost what a prompt of their length costs; what the ids
say is noise. Every result made from them is labelled.
"""

import zlib
from array import array
from collections.abc import Sequence
from hashlib import shake_128
from itertools import pairwise

ID_BYTES = 4


def standin_ids(digest: bytes, count: int, vocabulary_size: int) -> tuple[int, ...]:
    """`count` ids below `vocabulary_size` that follow from `digest`; a longer list begins with the shorter one."""
    stream = shake_128(digest).digest(ID_BYTES * count)
    return tuple(
        int.from_bytes(stream[start : start + ID_BYTES], "little") % vocabulary_size
        for start in range(0, len(stream), ID_BYTES)
    )


def scaled_ids(ids: Sequence[int], factor: float, vocabulary_size: int) -> tuple[int, ...]:
    """A shorter prompt with the same proportions: each run of 1 / `factor` ids becomes one id that follows from it.

    So what two prompts share, and where they part, is at the same share of their length. The run at the end that is
    not complete is dropped, since it would change when the prompt grows.
    """
    tokens = array("q", ids)
    ends = [int(number / factor) for number in range(int(len(tokens) * factor) + 1)]
    return tuple(zlib.crc32(tokens[start:stop].tobytes()) % vocabulary_size for start, stop in pairwise(ends))
