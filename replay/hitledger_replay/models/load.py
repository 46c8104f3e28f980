"""`--model NAME`: which kind of model a name means."""

from pathlib import Path

import torch

from hitledger_replay.blockhash import CacheIdentity
from hitledger_replay.engine.selfcheck import require_same_logits
from hitledger_replay.errors import ReplayError
from hitledger_replay.models.folder import load_folder
from hitledger_replay.models.gguffile import GgufFile
from hitledger_replay.models.gguftokenizer import build_tokenizer, special_tokens
from hitledger_replay.models.ggufweights import build_model
from hitledger_replay.models.loaded import LoadedModel
from hitledger_replay.models.smollm2 import smollm2_file
from hitledger_replay.models.tiny import tiny_model


def load_model(
    name: str, device: torch.device, dtype: torch.dtype | None = None, allow_network: bool = False
) -> LoadedModel:
    """`tiny`, `smollm2`, a GGUF file, a folder, or with `allow_network` a hub id.

    `dtype` None is float32 on CPUs, where half precision is many times slower, and bfloat16 elsewhere.
    Raises ReplayError that says what is missing and what to do.
    """
    chosen = dtype or (torch.float32 if device.type == "cpu" else torch.bfloat16)
    if name == "tiny":
        return tiny_model(device, chosen)
    if name == "smollm2":
        return load_gguf(smollm2_file(), device, chosen, name)
    path = Path(name)
    if path.suffix == ".gguf" or path.is_dir() or allow_network:
        is_file = path.suffix == ".gguf"
        loaded = (
            load_gguf(path, device, chosen, path.stem) if is_file else load_folder(name, device, chosen, allow_network)
        )
        require_same_logits(loaded.model)
        return loaded
    raise ReplayError(
        f"{name}: no such model. Give tiny, smollm2, a GGUF file, a folder in transformers format, "
        "or a hub id with --allow-network"
    )


def load_gguf(path: Path, device: torch.device, dtype: torch.dtype, name: str) -> LoadedModel:
    """A GGUF file, dequantized. Raises ReplayError."""
    file = GgufFile(path)
    model = build_model(file, device, dtype)
    template = file.metadata.get("tokenizer.chat_template")
    return LoadedModel(
        name=name,
        model=model,
        tokenizer=build_tokenizer(file),
        chat_template=template if isinstance(template, str) else None,
        special_tokens=special_tokens(file),
        max_tokens=int(model.config.max_position_embeddings),
        identity=CacheIdentity(
            name,
            revision=str(file.metadata.get("general.name", "")),
            dtype=str(dtype),
            position_rule=f"rope_theta={file.metadata.get(f'{model.config.model_type}.rope.freq_base')}",
            tokenizer=str(file.metadata.get("tokenizer.ggml.pre", "")),
        ),
        note="weights dequantized from GGUF",
    )
