"""What the CUDA back end hands to torch's variable-length kernel, on a kernel of the same contract for CPUs."""

from typing import Any

import pytest
import torch

from engine_models import random_model, random_tokens
from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.engine.attention import varlen
from hitledger_replay.engine.attention.masks import visible
from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.attention.varlen import VarlenAttention, kernel_takes
from hitledger_replay.engine.batch import PackedBatch, Work, pack
from hitledger_replay.engine.codec import codec_for
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.engine.shapes import LayerShape
from hitledger_replay.engine.store import KVStore
from hitledger_replay.sequence import Sequence

CPU = torch.device("cpu")


class Kernel:
    """torch's documented contract, in float32: pages by block table or packed keys, used lengths, window (left, 0)."""

    def __init__(self) -> None:
        self.paged: list[bool] = []
        self.tables: list[torch.Tensor] = []

    def __call__(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, cu_seq_q: torch.Tensor,
        cu_seq_k: torch.Tensor | None, max_q: int, max_k: int, *, scale: float, window_size: tuple[int, int],
        enable_gqa: bool, seqused_k: torch.Tensor, block_table: torch.Tensor | None, num_splits: int,
    ) -> torch.Tensor:  # fmt: skip
        self.paged.append(block_table is not None)
        assert num_splits == 1
        assert (cu_seq_k is None) == (block_table is not None)
        assert enable_gqa == (query.shape[1] != key.shape[-2])
        if block_table is not None:
            assert key.shape[1] % 256 == 0, "FlashAttention 2 refuses smaller pages"
            self.tables.append(block_table)
        outputs = []
        for row, used in enumerate(seqused_k.tolist()):
            first, stop = cu_seq_q[row : row + 2].tolist()
            assert stop - first <= max_q
            assert used <= max_k
            if cu_seq_k is not None:
                keys, values = (x[int(cu_seq_k[row]) :][:used].float() for x in (key, value))
                assert used <= cu_seq_k[row + 1] - cu_seq_k[row]
            else:
                keys, values = (x[block_table[row].long()].flatten(0, 1)[:used].float() for x in (key, value))
            groups = query.shape[1] // keys.shape[1]
            window = None if window_size[0] < 0 else window_size[0] + 1
            mask = visible(stop - first, used, used - (stop - first), window, CPU)
            scores = torch.einsum("qhd,khd->hqk", query[first:stop].float(), keys.repeat_interleave(groups, 1)) * scale
            weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
            outputs.append(torch.einsum("hqk,khd->qhd", weights, values.repeat_interleave(groups, 1)))
        return torch.cat(outputs).to(query.dtype)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    found = Kernel()
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", found)
    monkeypatch.setattr(varlen, "DEVICE", "cpu")
    return found


def ragged(block_size: int) -> tuple[KVStore, PackedBatch, torch.Tensor]:
    """300 keys with 100 queries, 130 keys with one, in blocks that are far apart."""
    shape = LayerShape(2, 16, 16)
    store = KVStore([shape], 40, block_size, codec_for("model", torch.bfloat16), CPU)
    store.rows.normal_(generator=torch.Generator().manual_seed(1))
    works, block = [], 39
    for length, queries in ((300, 100), (130, 1)):
        sequence = Sequence("s", range(length), root=root_hash(CacheIdentity("m")), block_size=block_size)
        sequence.block_table = list(range(block, block - -(-length // block_size), -1))
        block -= len(sequence.block_table)
        works.append(Work(sequence, length - queries, length))
    query = torch.randn(8, 101, 16, generator=torch.Generator().manual_seed(2)).bfloat16()
    return store, pack(works, block_size, CPU), query


@pytest.mark.parametrize("window", [None, 100])
@pytest.mark.parametrize("block_size", [16, 256, 512])
def test_pages_or_gathered_keys_give_the_reference_s_answer(
    kernel: Kernel, block_size: int, window: int | None
) -> None:
    store, batch, query = ragged(block_size)
    rule = Rule(0.25, window)
    wanted = ReferenceAttention().attend_pages(query, store, 0, batch, rule)
    backend = VarlenAttention()
    for _ in range(2):
        found = backend.attend_pages(query, store, 0, batch, rule)
        torch.testing.assert_close(found, wanted, atol=2e-2, rtol=2e-2)
    assert kernel.paged == [block_size >= 256] * 2
    assert len({id(table) for table in kernel.tables}) == (block_size >= 256)  # built once a batch


@pytest.mark.parametrize("kv_dtype", ["model", "fp16", "fp8"])
def test_an_engine_on_that_kernel_says_what_the_reference_says(kernel: Kernel, kv_dtype: str) -> None:
    """The arguments follow the batch: prefill, a hit, decode. Stored in another dtype, keys are gathered first."""
    model, prompt = random_model("mistral", torch.bfloat16), random_tokens(90)
    options = EngineOptions(8, 256, kv_dtype, token_budget=64, keep_logits=True)
    logits = []
    for backend in (ReferenceAttention(), VarlenAttention()):
        paged = Engine(model, options, backend=backend)
        result = paged.run_one(Request("r", prompt, max_new_tokens=3))
        assert result.first_logits is not None
        logits.append(result.first_logits.float())
    torch.testing.assert_close(logits[1], logits[0], atol=0.03 * logits[0].abs().max().item(), rtol=0)
    assert set(kernel.paged) == {kv_dtype == "model"}


def test_what_the_kernel_lacks_goes_to_the_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varlen, "DEVICE", "cpu")
    half = torch.zeros(2, 3, 16, dtype=torch.bfloat16)
    plain = Rule(1.0, window=4)
    assert kernel_takes(half, half, plain)
    refused: list[tuple[Any, Any, Rule]] = [
        (half.float(), half.float(), plain),
        (half, half[..., :8], plain),
        (half[..., :12], half[..., :12], plain),
        (torch.zeros(2, 3, 264, dtype=torch.bfloat16),) * 2 + (plain,),  # type: ignore[list-item]
        (half, half, Rule(1.0, softcap=2.0)),
        (half, half, Rule(1.0, sinks=torch.zeros(2))),
    ]
    assert not any(kernel_takes(*case) for case in refused)
    store, batch, query = ragged(16)
    rule = Rule(0.25, softcap=2.0)
    found = VarlenAttention().attend_pages(query, store, 0, batch, rule)
    torch.testing.assert_close(
        found, ReferenceAttention().attend_pages(query, store, 0, batch, rule), atol=2e-2, rtol=2e-2
    )
