"""A model nobody tried before is checked before it is trusted: its own answer beside the engine's."""

from typing import Any

import torch

from hitledger_replay.engine.attention.protocol import AttentionBackend
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.errors import UnknownArchitectureError

NUM_TOKENS = 40
BLOCK_SIZE = 16
TOLERANCE = {torch.float32: 1e-3}
HALF_TOLERANCE = 0.1
"""Of the largest logit. 16-bit sums differ in the second digit with their order."""


@torch.inference_mode()
def require_same_logits(model: Any, backend: AttentionBackend | None = None) -> None:
    """Run a short prompt plainly and through the store, cut in two. Raises UnknownArchitectureError if they differ.

    Leaves the model set to paged attention.
    """
    vocabulary = int(model.get_input_embeddings().num_embeddings)
    tokens = [token * 7919 % vocabulary for token in range(1, NUM_TOKENS + 1)]
    plain = model(input_ids=torch.tensor([tokens], device=model.device), use_cache=False).logits[0, -1]
    options = EngineOptions(2 + NUM_TOKENS // BLOCK_SIZE + 1, BLOCK_SIZE, keep_logits=True, poison=True)
    engine = Engine(model, options, backend=backend)
    paged = engine.run_one(Request("check", tuple(tokens), split_at=(BLOCK_SIZE,))).first_logits
    assert paged is not None, "the engine was asked to keep logits"
    scale = plain.abs().max()
    error = float((paged - plain).abs().max() / scale)
    if not error <= TOLERANCE.get(plain.dtype, HALF_TOLERANCE):
        raise UnknownArchitectureError(
            f"{model.config.model_type}: through the paged store its logits are off by {error:.1%}; this architecture "
            "attends in a way the engine does not know, so nothing is replayed with it"
        )
