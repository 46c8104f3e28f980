"""One forward pass of a transformers model, whatever its version calls the cache."""

import inspect
from typing import Any

import torch


def call_model(
    model: Any,
    token_ids: torch.Tensor,
    position_ids: torch.Tensor,
    *,
    cache: Any,
    logits_index: torch.Tensor | None = None,
) -> torch.Tensor:
    """Run `token_ids` (1, T) at `position_ids` (1, T); returns logits (len(logits_index) or T, vocabulary).

    The cache argument is `cache` since transformers 5.24 and `past_key_values` before.
    """
    parameters = inspect.signature(model.forward).parameters
    kwargs: dict[str, Any] = {"cache" if "cache" in parameters else "past_key_values": cache}
    keep = "logits_to_keep" in parameters and logits_index is not None
    if keep:
        kwargs["logits_to_keep"] = logits_index
    output = model(input_ids=token_ids, position_ids=position_ids, use_cache=True, **kwargs)
    logits: torch.Tensor = output.logits[0]
    return logits if keep or logits_index is None else logits[logits_index]
