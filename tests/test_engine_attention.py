"""The back ends: which keys are read, from which slots, how much work it is, and that all of them agree."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from engine_models import random_model, random_tokens
from hitledger.errors import UsageError
from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.engine.attention.choose import choose_backend, choose_device
from hitledger_replay.engine.attention.masks import visible
from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.attention.ragged import varlen_arguments
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.attention.tiled import TiledAttention
from hitledger_replay.engine.attention.varlen import VarlenAttention
from hitledger_replay.engine.batch import PackedBatch, Work, pack
from hitledger_replay.engine.codec import PlainCodec
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.engine.shapes import LayerShape
from hitledger_replay.engine.store import KVStore
from hitledger_replay.errors import ReplayError
from hitledger_replay.sequence import Sequence

CPU = torch.device("cpu")
SHAPE = LayerShape(2, 16, 16)


def sequence(length: int, table: list[int], block_size: int = 4) -> Sequence:
    seq = Sequence("s", range(length), root=root_hash(CacheIdentity("m")), block_size=block_size)
    seq.block_table = table
    return seq


def stamped(store: KVStore, batch: PackedBatch) -> None:
    """Write each token's position in place of its key."""
    stamp = batch.position_ids[0].float()[None, :, None].expand(SHAPE.num_heads, -1, SHAPE.key_dim)
    store.write(0, batch.write_blocks, batch.write_offsets, stamp, -stamp)


def positions(store: KVStore, batch: PackedBatch, part: int) -> list[int]:
    where = batch.parts[part]
    key, _ = store.gather(0, batch.block_ids)
    return [int(x) for x in key[0, where.key_start : where.key_start + where.num_keys, 0]]


def test_gather_returns_the_tokens_in_order_and_a_swapped_table_does_not() -> None:
    """Outputs cannot show this: attention is a set operation, and keys carry their positions."""
    store = KVStore([SHAPE], 9, 4, PlainCodec(torch.float32, torch.float32), CPU)
    first, second = sequence(10, [7, 2, 5]), sequence(6, [1, 8])
    batch = pack([Work(first, 0, 10), Work(second, 0, 6)], 4, CPU)
    stamped(store, batch)
    assert positions(store, batch, 0) == list(range(10))
    assert positions(store, batch, 1) == list(range(6))
    assert batch.write_blocks.tolist() == [7] * 4 + [2] * 4 + [5] * 2 + [1] * 4 + [8] * 2
    assert batch.write_offsets.tolist() == [0, 1, 2, 3] * 2 + [0, 1] + [0, 1, 2, 3, 0, 1]
    first.block_table = [2, 7, 5]
    assert positions(store, pack([Work(first, 9, 10)], 4, CPU), 0) == [4, 5, 6, 7, 0, 1, 2, 3, 8, 9]


def test_layers_and_tokens_do_not_overlap_in_a_row() -> None:
    shapes = [LayerShape(2, 3, 5), LayerShape(1, 4, 4)]
    store = KVStore(shapes, 3, 2, PlainCodec(torch.float32, torch.float32), CPU)
    number = 1.0
    for layer in range(2):
        for page in store.pages(layer):
            page[1] = number
            number += 1
    assert store.rows[1].tolist() == [1.0] * 12 + [2.0] * 20 + [3.0] * 8 + [4.0] * 8
    assert not store.rows[0].any()
    assert not store.rows[2].any()
    assert store.block_bytes == 4 * 2 * sum(shape.elements for shape in shapes)


def test_mask_of_queries_behind_a_prefix() -> None:
    assert visible(2, 5, 3, None, CPU).int().tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert visible(2, 5, 3, 2, CPU).int().tolist() == [[0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]


RULES = st.builds(
    Rule,
    scale=st.just(0.25),
    window=st.none() | st.integers(1, 40),
    softcap=st.none() | st.just(3.0),
    sinks=st.none() | st.just(torch.tensor([0.5, -1.0, 2.0, 0.0])),
)


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=4),
    rule=RULES,
    tile=st.integers(1, 12),
)
def test_tiles_equal_the_reference(parts: list[tuple[int, int]], rule: Rule, tile: int) -> None:
    works, block = [], 1
    for past, queries in parts:
        table = list(range(block, block + -(-(past + queries) // 4)))
        block += len(table)
        works.append(Work(sequence(past + queries, table), past, past + queries))
    batch = pack(works, 4, CPU)
    generator = torch.Generator().manual_seed(block)
    query = torch.randn(4, batch.token_ids.shape[1], 16, generator=generator)
    key, value = torch.randn(2, 2, len(batch.block_ids) * 4, 16, generator=generator)
    wanted = ReferenceAttention().attend(query, key, value, batch, rule)
    torch.testing.assert_close(TiledAttention(tile).attend(query, key, value, batch, rule), wanted)


def test_softcap_and_sinks_of_one_row_by_hand() -> None:
    """Two equal keys of score 0 and a sink of logit 0: each key weighs a third. A cap of 1 turns score 10 into 1."""
    batch = pack([Work(sequence(2, [1]), 1, 2)], 4, CPU)
    query, key = torch.ones(1, 1, 1), torch.zeros(1, 4, 1)
    value = torch.tensor([[[3.0], [6.0], [0.0], [0.0]]])
    sunk = ReferenceAttention().attend(query, key, value, batch, Rule(1.0, sinks=torch.zeros(1)))
    assert sunk.item() == pytest.approx(3.0)
    key[0, 1] = 10.0
    capped = ReferenceAttention().attend(query, key, value, batch, Rule(1.0, softcap=1.0))
    weight = 2.718281828 ** torch.tanh(torch.tensor(10.0)).item()
    assert capped.item() == pytest.approx((3 + 6 * weight) / (1 + weight), rel=1e-5)


def attention_flops(query: list[int], key: list[int], value: list[int], *args: object, **kwargs: object) -> int:
    """Both products of one call; the counter hands over shapes (1, heads, tokens, dim)."""
    return 2 * query[1] * query[2] * key[2] * (query[3] + value[3])


def count_flops(paged: Engine, request: Request) -> FlopCounterMode:
    aten = torch.ops.aten
    mapping = {aten._scaled_dot_product_flash_attention_for_cpu: attention_flops}
    counter = FlopCounterMode(display=False, custom_mapping=mapping)
    with counter:
        paged.run_one(request)
    return counter


@pytest.mark.parametrize("hit", [0, 16, 64, 112])
def test_linear_flops_are_2_p_times_the_uncached_tokens(hit: int) -> None:
    """2 P (n - p) + 2 D V, exactly: P parameters outside the embeddings, D hidden size, V vocabulary."""
    model, prompt = random_model("llama"), random_tokens(120)
    paged = Engine(model, EngineOptions(64))
    if hit:
        paged.run_one(Request("warm", prompt[:hit]))
    counts = count_flops(paged, Request("r", prompt)).get_flop_counts()["Global"]
    linear = counts[torch.ops.aten.mm]
    weights = sum(p.numel() for name, p in model.model.layers.named_parameters() if "norm" not in name)
    config = model.config
    assert linear == 2 * weights * (120 - hit) + 2 * config.hidden_size * config.vocab_size


@pytest.mark.parametrize("hit", [0, 32, 96, 112])
def test_attention_work_follows_1_minus_h_squared(hit: int) -> None:
    """Tiles of one query compute exactly the causal area (n - p) p + (n - p)(n - p + 1) / 2, in every layer."""
    model, length = random_model("llama"), 128
    prompt = random_tokens(length)
    paged = Engine(model, EngineOptions(64), backend=TiledAttention(1))
    if hit:
        paged.run_one(Request("warm", prompt[:hit]))
    counts = count_flops(paged, Request("r", prompt)).get_flop_counts()["Global"]
    attention = sum(count for op, count in counts.items() if "scaled_dot" in str(op))
    pairs = (length - hit) * hit + (length - hit) * (length - hit + 1) // 2
    config = model.config
    width = config.num_hidden_layers * config.num_attention_heads * config.head_dim
    assert attention == 4 * width * pairs
    cold = length * (length + 1) // 2
    assert pairs / cold == pytest.approx(1 - (hit / length) ** 2, abs=0.01)


def test_varlen_arguments_of_a_ragged_batch() -> None:
    batch = pack([Work(sequence(10, [7, 2, 5]), 6, 10), Work(sequence(3, [4]), 2, 3)], 4, CPU)
    arguments = varlen_arguments(batch, 4, CPU)
    assert arguments.query_starts.tolist() == [0, 4, 5]
    assert arguments.key_starts.tolist() == [0, 12, 16]
    assert arguments.used_keys.tolist() == [10, 3]
    assert arguments.block_table.tolist() == [[7, 2, 5], [4, 0, 0]]
    assert (arguments.max_queries, arguments.max_keys) == (4, 10)
    assert arguments.query_starts.dtype == arguments.block_table.dtype == torch.int32


def test_varlen_falls_back_where_the_kernel_lacks_something() -> None:
    """float32 has no flash kernel: the model still runs, through the reference."""
    prompt = random_tokens(40)
    wanted = Engine(random_model("llama"), EngineOptions(16, keep_logits=True)).run_one(Request("r", prompt))
    paged = Engine(random_model("llama"), EngineOptions(16, keep_logits=True), backend=VarlenAttention())
    result = paged.run_one(Request("r", prompt))
    assert result.first_logits is not None
    torch.testing.assert_close(result.first_logits, wanted.first_logits)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("block_size", [16, 64, 256])
@pytest.mark.parametrize("window", [None, 100])
def test_varlen_equals_the_reference_on_cuda(block_size: int, window: int | None) -> None:
    device = torch.device("cuda")
    shape = LayerShape(2, 64, 64)
    store = KVStore([shape], 40, block_size, PlainCodec(torch.bfloat16, torch.bfloat16), device)
    store.rows.normal_()
    tables = [list(range(1, 1 + -(-300 // block_size))), list(range(20, 20 + -(-130 // block_size)))]
    works = [Work(sequence(300, tables[0], block_size), 200, 300), Work(sequence(130, tables[1], block_size), 129, 130)]
    batch = pack(works, block_size, device)
    query = torch.randn(8, 101, 64, device=device, dtype=torch.bfloat16)
    rule = Rule(0.125, window)
    wanted = ReferenceAttention().attend_pages(query, store, 0, batch, rule)
    found = VarlenAttention().attend_pages(query, store, 0, batch, rule)
    torch.testing.assert_close(found, wanted, atol=2e-2, rtol=2e-2)


def test_a_device_asked_for_by_name_must_be_there() -> None:
    assert choose_device("cpu") == CPU
    assert choose_backend(CPU).name == "tiled"
    with pytest.raises(ReplayError, match="is no device"):
        choose_device("abacus")
    if not torch.cuda.is_available():
        with pytest.raises(ReplayError, match="--device auto"):
            choose_device("cuda")
    with pytest.raises(UsageError, match="tiled"):
        choose_backend(CPU, "flash9")


def test_rule_says_when_scores_must_be_open() -> None:
    rule = Rule(1.0)
    assert not rule.needs_scores
    assert replace(rule, softcap=2.0).needs_scores
