"""What the pool of one sequence takes beside the size table."""

from typing import Any

from hitledger_replay.dtypes import kv_dtype
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.modelconfig import spec_from_config
from hitledger_replay.sizing import Layout, physical


def pool_memory(model: Any, name: str, dtype: str, kv: str, length: int, block_size: int) -> str:
    """The pool's tensors for a sequence of `length` tokens. `dtype` is torch's name of the model's, `kv` ours."""
    spec = spec_from_config({**model.config.to_dict(), "dtype": dtype}, name)
    sized = physical(spec, length, 1, kv_dtype(kv), Layout(block_size))
    store = Engine(model, EngineOptions(-(-length // block_size) + 1, block_size)).store
    held = store.rows.numel() * store.rows.element_size()
    wanted = sized.live + sized.rounding + sized.scales_alignment
    return f"pool for {length} tokens: {held:,} bytes, size table {wanted:,} ({held / wanted - 1:+.2%}, the null block)"
