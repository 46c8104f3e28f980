"""A model in transformers' own format: a local folder, or a hub id where the user allows the network."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from hitledger_replay.blockhash import CacheIdentity
from hitledger_replay.engine.probe import refuse_unpageable
from hitledger_replay.errors import ReplayError
from hitledger_replay.models.loaded import LoadedModel


class FolderTokenizer:
    """transformers' tokenizer of the folder."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def load_folder(name: str, device: torch.device, dtype: torch.dtype, allow_network: bool = False) -> LoadedModel:
    """Code from the folder is never run. Raises ReplayError for a folder that is incomplete or damaged."""
    options: dict[str, Any] = {"local_files_only": not allow_network, "trust_remote_code": False}
    causal: Any = AutoModelForCausalLM
    transformers_logging: Any = logging
    transformers_logging.disable_progress_bar()  # it would stand between our own lines, and under --quiet
    try:
        config = AutoConfig.from_pretrained(name, **options)
        refuse_unpageable(config)
        model, report = causal.from_pretrained(name, dtype=dtype, output_loading_info=True, **options)
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        hint = "; the folder is incomplete or damaged" if Path(name).is_dir() else ""
        reason = str(error).strip().split("\n", 1)[0]
        raise ReplayError(f"{name}: the model cannot be loaded: {reason}{hint}") from error
    if report["missing_keys"]:
        lacking = ", ".join(sorted(report["missing_keys"])[:3])
        raise ReplayError(f"{name}: weights are missing ({lacking} …); the folder is incomplete")
    text = config.get_text_config()
    special = {key: str(value) for key, value in tokenizer.special_tokens_map.items() if isinstance(value, str)}
    return LoadedModel(
        name=Path(name).name if Path(name).is_dir() else name,
        model=model.eval().to(device),
        tokenizer=FolderTokenizer(tokenizer),
        chat_template=tokenizer.chat_template if isinstance(tokenizer.chat_template, str) else None,
        special_tokens=special,
        max_tokens=int(getattr(text, "max_position_embeddings", None) or getattr(text, "n_positions", 0) or 1 << 20),
        identity=CacheIdentity(name, dtype=str(dtype), position_rule=_position_rule(text), tokenizer=name),
    )


def _position_rule(config: Any) -> str:
    rules = {key: getattr(config, key, None) for key in ("rope_theta", "rope_scaling", "rope_parameters")}
    return json.dumps(rules, sort_keys=True, default=str)
