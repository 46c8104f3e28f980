"""The back end and the device for a machine."""

import torch

from hitledger.errors import UsageError
from hitledger_replay.engine.attention.protocol import AttentionBackend
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.attention.tiled import TiledAttention
from hitledger_replay.engine.attention.varlen import VarlenAttention
from hitledger_replay.errors import ReplayError

BACKENDS: dict[str, type[ReferenceAttention] | type[TiledAttention] | type[VarlenAttention]] = {
    "reference": ReferenceAttention,
    "tiled": TiledAttention,
    "varlen": VarlenAttention,
}


def choose_device(name: str = "auto") -> torch.device:
    """cuda, mps or cpu, the first there is; a device asked for by name must be there. Raises ReplayError."""
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(kind for kind, found in there.items() if found))
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ReplayError(f"{name!r} is no device; use auto, cpu, cuda, cuda:N or mps") from error
    if not there.get(device.type, False) or (device.index or 0) >= max(1, torch.cuda.device_count()):
        raise ReplayError(f"device {name!r} was asked for and this machine has none; use --device auto")
    return device


def choose_backend(device: torch.device, name: str = "auto") -> AttentionBackend:
    """Tiles on CPUs, torch's flash kernel on CUDA, the reference elsewhere. Raises UsageError for an unknown name."""
    if name == "auto":
        name = {"cpu": "tiled", "cuda": "varlen"}.get(device.type, "reference")
    if name not in BACKENDS:
        raise UsageError(f"unknown attention back end {name!r}; known: {', '.join(BACKENDS)}")
    return BACKENDS[name]()
