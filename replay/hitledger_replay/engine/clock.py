"""Waiting for the device before a clock is read."""

import torch


def synchronize(device: torch.device) -> None:
    """Return when all work handed to `device` is done; on a CPU it always is."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
