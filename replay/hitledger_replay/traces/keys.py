"""Give every block a number that stands for the block *and* all blocks in front of it.

Published traces promise that of their ids ("prefix hashes"), and then the ids can be used as they are. Where an id
occurs behind two different blocks, reuse must be decided on the path, so such ids are renamed along a trie.
"""

from itertools import pairwise

import numpy as np

from hitledger_replay.arrays import Ints

NONE = -1


def chained_keys(ids: Ints, starts: Ints) -> tuple[Ints, int | None]:
    """Keys for the blocks `ids` of the requests that begin at `starts` (int64[R + 1]).

    The second value is the first request in which an id occurs twice, else None: no prefix hash can repeat.
    """
    if not len(ids):
        return ids, None
    if ids.max() >= 4 * len(ids) + 1024:
        ids = np.unique(ids, return_inverse=True)[1].astype(np.int64)
    before = np.empty_like(ids)
    before[1:] = ids[:-1]
    before[starts[:-1][starts[:-1] < len(ids)]] = NONE
    parent = np.empty(int(ids.max()) + 1, dtype=np.int64)
    parent[ids] = before
    if np.array_equal(parent[ids], before):
        return ids, None  # every id has one parent; then none can occur twice in a request either
    repeated = _first_repetition(ids, starts)
    return (ids, repeated) if repeated is not None else (_trie_keys(ids, starts), None)


def _first_repetition(ids: Ints, starts: Ints) -> int | None:
    for request in range(len(starts) - 1):
        blocks = ids[starts[request] : starts[request + 1]]
        if len(np.unique(blocks)) != len(blocks):
            return request
    return None


def _trie_keys(ids: Ints, starts: Ints) -> Ints:
    children: dict[tuple[int, int], int] = {}
    keys: list[int] = []
    bounds = starts.tolist()
    flat = ids.tolist()
    for first, last in pairwise(bounds):
        node = NONE
        for block in flat[first:last]:
            node = children.setdefault((node, block), len(children))
            keys.append(node)
    return np.array(keys, dtype=np.int64)
