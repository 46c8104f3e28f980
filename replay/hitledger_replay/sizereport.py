"""The answer of `hitledger size` as one JSON-able value, with the seven questions of the capacity checklist."""

from dataclasses import asdict, dataclass
from typing import Any

from hitledger.errors import UsageError
from hitledger_replay.dtypes import KVDtype, ScaleRule
from hitledger_replay.levers import levers
from hitledger_replay.moves import Tier
from hitledger_replay.sizing import Capacity, Layout, Physical, block_bytes, capacity, physical
from hitledger_replay.spec import KVSpec, LayerGroup, LayerKind

_STATE = {
    LayerKind.FULL: "keys and values of every token",
    LayerKind.SLIDING: "keys and values of the last window",
    LayerKind.LATENT: "one latent and one rotary key for all heads, of every token",
    LayerKind.INDEXER: "indexer keys of every token",
    LayerKind.RECURRENT: "fixed state for each sequence",
}

LIMITS = {"num_tokens": 1 << 40, "num_sequences": 1 << 30, "tensor_parallel": 1 << 16}


@dataclass(frozen=True, slots=True)
class SizeQuestion:
    """What is asked: `memory_bytes` and `weight_bytes` are per rank; None where not given.

    `device_share` is the part of the tokens that stays on the device when the rest is offloaded.
    """

    num_tokens: int
    num_sequences: int = 1
    tensor_parallel: int = 1
    memory_bytes: int | None = None
    weight_bytes: int | None = None
    device_share: float = 1.0

    def __post_init__(self) -> None:
        for name in ("num_tokens", "num_sequences", "tensor_parallel"):
            if not 1 <= getattr(self, name) <= LIMITS[name]:
                raise UsageError(f"{name} must be from 1 to {LIMITS[name]}, not {getattr(self, name)}")
        if not 0 < self.device_share <= 1:
            raise UsageError(f"the share on the device must be above 0 and at most 1, not {self.device_share}")


def size_report(spec: KVSpec, dtype: KVDtype, layout: Layout, ask: SizeQuestion) -> dict[str, Any]:
    """Everything about one model and one load. All values are bytes or tokens unless the name says otherwise."""
    rank = spec.rank(ask.tensor_parallel)
    ranks = [rank.bytes_per_token(dtype)] * ask.tensor_parallel
    parts = physical(rank, ask.num_tokens, ask.num_sequences, dtype, layout)
    room = _capacity(spec, rank, dtype, layout, ask)
    return {
        "model": spec.name,
        "model_type": spec.model_type,
        "kv_dtype": dtype.name,
        "block_size": layout.block_size,
        "tokens": ask.num_tokens,
        "sequences": ask.num_sequences,
        "tensor_parallel": ask.tensor_parallel,
        "layers": [_group(group, dtype) for group in spec.groups],
        "bytes_per_token": spec.bytes_per_token(dtype),
        "bytes_per_token_when_windows_are_full": spec.growth_bytes_per_token(dtype),
        "bytes_per_token_per_rank": ranks,
        "bytes_per_token_all_ranks": sum(ranks),
        "state_bytes_per_sequence": spec.state_bytes(),
        "block_bytes_per_rank": block_bytes(rank, dtype, layout),
        "logical_bytes": ask.num_sequences * (spec.payload_bytes(ask.num_tokens, dtype) + spec.state_bytes()),
        "physical": {**asdict(parts), "total": parts.total},
        "weight_bytes": _weights(spec, ask),
        "capacity": None if room is None else asdict(room),
        "levers": [asdict(lever) for lever in levers(spec, dtype, ask.num_tokens, ask.device_share)],
        "checklist": _checklist(spec, dtype, layout, ask, parts, room),
    }


def _group(group: LayerGroup, dtype: KVDtype) -> dict[str, Any]:
    per_token = group.elements_per_token * dtype.element_bytes
    return {**asdict(group), "bytes_per_token_per_layer": per_token, "state": _STATE[group.kind]}


def _weights(spec: KVSpec, ask: SizeQuestion) -> int | None:
    """Per rank: as given, else the model's, split evenly (norms are replicated, which is far below one percent)."""
    if ask.weight_bytes is not None:
        return ask.weight_bytes
    return None if spec.weight_bytes is None else -(-spec.weight_bytes // ask.tensor_parallel)


def _capacity(spec: KVSpec, rank: KVSpec, dtype: KVDtype, layout: Layout, ask: SizeQuestion) -> Capacity | None:
    if ask.memory_bytes is None:
        return None
    weights = _weights(spec, ask)
    if weights is None:
        raise UsageError(f"the size of the weights of {spec.name} is not known; give it with --weights")
    free = ask.memory_bytes - weights - layout.workspace_bytes
    return capacity(rank, free, ask.num_tokens, ask.num_sequences, dtype, layout)


def _checklist(
    spec: KVSpec, dtype: KVDtype, layout: Layout, ask: SizeQuestion, parts: Physical, room: Capacity | None
) -> dict[str, Any]:
    """The seven questions to put to any figure about cache memory. None of the answers is ever null."""
    scales = {ScaleRule.NONE: "none", ScaleRule.PER_TENSOR: "float32, two a layer"}
    if room is None:
        limit, oom = "no memory given", "unknown: no memory given"
    else:
        limit = str(room.allocatable_tokens)
        fits = ask.num_sequences <= room.allocatable_sequences
        oom = "none" if fits else f"blocks: {ask.num_sequences} sequences asked, {room.allocatable_sequences} fit"
    return {
        "state_kind": [f"{kind}: {_STATE[kind]}" for kind in spec.kinds],
        "scope": "bytes_per_token and logical_bytes are of the whole model; per_rank, physical and capacity of one rank",
        "dtype": {
            "payload": dtype.name,
            "scales": scales.get(dtype.scales, "float32, two a layer, token and head"),
            "alignment_bytes": layout.alignment,
        },
        "live_allocated_max": {
            "live_bytes": parts.live,
            "allocated_bytes": parts.live + parts.rounding + parts.scales_alignment,
            "max_tokens": limit,
        },
        "hit_source": f"{Tier.DEVICE}: nothing is loaded from {Tier.HOST} or {Tier.DISK} in these figures",
        "oom_source": oom,
        "evidence": "exact from the configuration; stable_tokens is an estimate (watermark, one tail block a sequence)",
    }
