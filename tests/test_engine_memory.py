"""The pool's tensors are as large as the size table says, for every kind of layer, and the ledger's terms sum up."""

import pytest
import torch

from engine_models import ARCHITECTURES, random_model, random_tokens
from hitledger_replay.dtypes import kv_dtype
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.modelconfig import spec_from_config
from hitledger_replay.sessions.memory import free_bytes, memory_ledger
from hitledger_replay.sizing import Layout, physical


@pytest.mark.parametrize("kind", [*ARCHITECTURES, "gpt2"])
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp8"])
def test_bytes_a_token_are_those_of_the_size_table(kind: str, dtype: str) -> None:
    model = random_model(kind)
    spec = spec_from_config({**model.config.to_dict(), "dtype": "float32"}, kind)
    store = Engine(model, EngineOptions(2, 16, dtype)).store
    assert store.block_bytes == 16 * spec.bytes_per_token(kv_dtype(dtype))
    assert store.codec.num_scale_bytes == spec.fixed_scale_bytes(kv_dtype(dtype))


@pytest.mark.parametrize("length", [1, 16, 100, 1000])
def test_a_pool_for_one_sequence_is_the_table_and_the_null_block(length: int) -> None:
    model = random_model("llama")
    spec = spec_from_config({**model.config.to_dict(), "dtype": "float32"}, "llama")
    sized = physical(spec, length, 1, kv_dtype("fp32"), Layout(16))
    blocks = -(-length // 16)
    store = Engine(model, EngineOptions(blocks + 1)).store
    pool = store.rows.untyped_storage().nbytes()
    assert pool - store.block_bytes == sized.live + sized.rounding + sized.scales_alignment


def test_the_ledger_sums_to_the_storage() -> None:
    paged = Engine(random_model("llama"), EngineOptions(40, kv_dtype="fp8"))
    paged.run_one(Request("r", random_tokens(100)))
    ledger = memory_ledger(paged, 100, 112)
    token = 2 * 2 * 2 * 16  # layers, K and V, heads, dim, one byte each
    assert (ledger.bytes_per_token, ledger.live_bytes, ledger.rounding_bytes) == (token, 100 * token, 12 * token)
    assert ledger.live_bytes + ledger.rounding_bytes + ledger.free_bytes == paged.store.rows.untyped_storage().nbytes()
    assert ledger.scale_bytes == 2 * 2 * 4
    assert ledger.metadata_bytes == 7 * 4 + 100 * 8
    assert (ledger.workspace_bytes, ledger.host_bytes) == (None, 0)
    assert free_bytes(torch.device("cpu")) > 1 << 20
