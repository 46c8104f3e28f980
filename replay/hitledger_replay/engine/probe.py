"""The shape of what one layer hands to the cache, as the model itself shows it.

Two tensors a token: keys and values, or for MLA the latent and the rotary key (each with one head). Shapes are not
computed from a configuration: a two-token forward pass with a cache that only looks records them, so whatever
transformers hands over is what the store holds, in every version (MLA: expanded heads before 5.16, latents since).
"""

from typing import Any

import torch
from transformers import AttentionInterface

from hitledger_replay.engine.attention.masks import attend_masked, visible
from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.calling import call_model
from hitledger_replay.engine.shapes import LayerShape
from hitledger_replay.errors import UnknownArchitectureError

UNPAGEABLE = frozenset({"chunked_attention", "linear_attention", "mamba", "recurrent", "conv", "compressed_attention"})
UNPAGEABLE_TYPES = frozenset({"mamba", "mamba2", "falcon_mamba", "jamba", "bamba", "rwkv", "recurrent_gemma", "llama4"})


class _ShapeRecorder:
    """Stands where a cache is expected and keeps nothing but shapes and magnitudes."""

    is_compileable = False

    def __init__(self) -> None:
        self.shapes: dict[int, LayerShape] = {}
        self.peaks: dict[int, tuple[float, float]] = {}

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.shapes[layer_idx] = LayerShape(key.shape[1], key.shape[3], value.shape[3])
        self.peaks[layer_idx] = (float(key.abs().max()), float(value.abs().max()))
        return key, value

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return 0


def _plain_attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **kwargs: Any
) -> tuple[torch.Tensor, None]:
    """Causal attention of one short prompt; what comes out only feeds the layers behind."""
    mask = visible(query.shape[2], key.shape[2], 0, None, query.device)
    rule = Rule(kwargs.get("scaling") or float(query.shape[-1]) ** -0.5)
    return attend_masked(query[0], key[0], value[0], mask, rule).transpose(0, 1)[None], None


RECORDING = "hitledger_recording"
AttentionInterface.register(RECORDING, _plain_attention)


def refuse_unpageable(config: Any) -> None:
    """Raise UnknownArchitectureError for layers whose state is not one entry a token, or whose mask we cannot know."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    kinds = set(getattr(text, "layer_types", None) or ()) & UNPAGEABLE
    if getattr(text, "model_type", "") in UNPAGEABLE_TYPES:
        kinds.add(str(text.model_type))
    if kinds:
        names = ", ".join(sorted(kinds))
        raise UnknownArchitectureError(
            f"{names}: this state does not lie in one slot a token, so it cannot be paged; use another model"
        )


@torch.inference_mode()
def layer_shapes(model: Any) -> tuple[LayerShape, ...]:
    """The layers of `model`, first to last; leaves its attention setting changed. Raises UnknownArchitectureError if a layer keeps no keys and values."""
    return tuple(shape for shape, _ in _record(model, 2))


@torch.inference_mode()
def layer_peaks(model: Any, num_tokens: int = 64) -> tuple[tuple[float, ...], ...]:
    """The largest |key| and |value| of each layer over a fixed prompt: what a per-tensor scale is set by.

    One number for both where they are the two parts of a latent (MLA).
    """
    rank = getattr(model.config.get_text_config(), "kv_lora_rank", None)
    return tuple(
        (max(peaks),) if (shape.num_heads, shape.key_dim) == (1, rank) else peaks
        for shape, peaks in _record(model, num_tokens)
    )


def _record(model: Any, num_tokens: int) -> list[tuple[LayerShape, tuple[float, float]]]:
    refuse_unpageable(model.config)
    if not getattr(model, "_supports_attention_backend", False):
        raise UnknownArchitectureError(
            f"{model.config.model_type}: transformers gives this model no exchangeable attention; use another model"
        )
    recorder = _ShapeRecorder()
    model.set_attn_implementation(RECORDING)
    vocabulary = int(model.get_input_embeddings().num_embeddings)
    token_ids = (torch.arange(num_tokens, device=model.device) * 7919 % vocabulary)[None]
    call_model(model, token_ids, torch.arange(num_tokens, device=model.device)[None], cache=recorder)
    num_layers = len(recorder.shapes)
    expected = int(model.config.get_text_config().num_hidden_layers)
    if sorted(recorder.shapes) != list(range(num_layers)) or num_layers != expected:
        raise UnknownArchitectureError(
            f"{num_layers} of {expected} layers of this {model.config.model_type!r} model keep keys and values; "
            "a model with shared or missing caches is not held by the store"
        )
    return [(recorder.shapes[layer], recorder.peaks[layer]) for layer in range(num_layers)]
