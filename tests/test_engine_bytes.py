"""What is written and what never changes, byte for byte: decode steps, shared blocks, copies on write, layers."""

import pytest
import torch

from engine_models import random_model, random_tokens
from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.engine.batch import Work, pack
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.sequence import Sequence

SIZE = 16
PROMPT = random_tokens(200, seed=4)


def engine() -> Engine:
    return Engine(random_model("llama"), EngineOptions(40, SIZE))


def prefilled(paged: Engine, length: int) -> Sequence:
    """A running sequence whose tokens are all computed."""
    sequence = Sequence("parent", PROMPT[:length], root=root_hash(CacheIdentity("m")), block_size=SIZE)
    paged.cache.admit(sequence)
    compute(paged, sequence)
    return sequence


def compute(paged: Engine, sequence: Sequence) -> None:
    paged.transfers.carry_out(paged.cache.take_moves())
    work = Work(sequence, sequence.num_computed_tokens, len(sequence))
    paged.runner.forward(pack([work], SIZE, paged.store.device))
    paged.cache.populate(sequence, work.stop - work.start)


def written_slots(paged: Engine, before: torch.Tensor) -> dict[int, set[tuple[int, int]]]:
    """Layer -> (block, offset) whose keys or values are not what they were."""
    after = paged.store.rows.clone()
    changed: dict[int, set[tuple[int, int]]] = {}
    for layer in range(len(paged.store.layers)):
        now = [page.clone() for page in paged.store.pages(layer)]
        paged.store.rows.copy_(before)
        old = [page.clone() for page in paged.store.pages(layer)]
        paged.store.rows.copy_(after)
        different = [(a != b).flatten(2).any(-1) for a, b in zip(now, old, strict=True)]
        changed[layer] = {(int(b), int(o)) for b, o in torch.nonzero(different[0] | different[1])}
    return changed


@pytest.mark.parametrize("length", [15, 16, 17, 40])
def test_a_decode_step_writes_one_slot_a_layer_and_the_past_never_changes(length: int) -> None:
    paged = engine()
    sequence = prefilled(paged, length)
    for step in range(3):
        before = paged.store.rows.clone()
        paged.cache.append(sequence, PROMPT[length + step])
        compute(paged, sequence)
        position = length + step
        slot = (sequence.block_table[position // SIZE], position % SIZE)
        assert written_slots(paged, before) == {0: {slot}, 1: {slot}}


@pytest.mark.parametrize("offset", range(SIZE))
def test_a_fork_copies_its_tail_once_and_the_parent_s_bytes_stay(offset: int) -> None:
    paged = engine()
    parent = prefilled(paged, SIZE + offset if offset else 2 * SIZE)
    child = paged.cache.fork(parent, "child")
    rows = {block: paged.store.rows[block].clone() for block in parent.block_table}
    paged.cache.append(child, 7)
    compute(paged, child)
    assert paged.cache.stats.num_copies == (1 if offset else 0)
    assert all(torch.equal(paged.store.rows[block], row) for block, row in rows.items())
    shared = len(parent.block_table) - (1 if offset else 0)
    assert child.block_table[:shared] == parent.block_table[:shared]
    assert child.block_table[shared] not in parent.block_table
    if offset:
        kept = paged.store.pages(1)[0]
        copy, original = child.block_table[shared], parent.block_table[shared]
        assert torch.equal(kept[copy, :offset], kept[original, :offset])


def test_a_hit_reads_shared_blocks_and_writes_none_of_them() -> None:
    paged = engine()
    paged.run_one(Request("1", PROMPT[:96]))
    before = paged.store.rows.clone()
    result = paged.run_one(Request("2", PROMPT[:120]))
    assert result.num_cached_tokens == 96
    assert torch.equal(paged.store.rows[1:7], before[1:7])
    assert {block for block, _ in written_slots(paged, before)[0]} == {7, 8}
