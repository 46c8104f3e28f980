"""Find a model's configuration: a file, a local folder, or the built-in table. Nothing is fetched."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from hitledger_replay.architectures import integer, layer_groups
from hitledger_replay.errors import ReplayError, UnknownArchitectureError
from hitledger_replay.spec import KVSpec
from hitledger_replay.weights import weight_bytes

MAX_CONFIG_BYTES = 1 << 22


def known_models() -> dict[str, dict[str, Any]]:
    """The built-in table: name -> configuration fields."""
    return tomllib.loads(files("hitledger_replay").joinpath("models.toml").read_text(encoding="utf-8"))


def read_spec(config: str) -> KVSpec:
    """The cache layout of a built-in model, a config.json or a folder that holds one.

    Raises ReplayError for a file that cannot be read and UnknownArchitectureError for a layout that is not known.
    """
    table = known_models()
    if config in table:
        return spec_from_config(table[config], config)
    path = Path(config)
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        near = get_close_matches(config.lower(), table)
        hint = f"did you mean {' or '.join(near)}?" if near else f"built in: {', '.join(sorted(table))}"
        raise ReplayError(f"{config}: no such file, folder with a config.json, or built-in model; {hint}")
    spec = spec_from_config(_read_json(file), path.resolve().name if path.is_dir() else path.stem)
    stored = sum(shard.stat().st_size for shard in file.parent.glob("*.safetensors")) if path.is_dir() else 0
    return replace(spec, weight_bytes=stored) if stored else spec


def spec_from_config(config: Mapping[str, Any], name: str) -> KVSpec:
    """The cache layout for configuration fields as transformers writes them; a multimodal one is read by its text part."""
    text = config.get("text_config")
    if isinstance(text, Mapping):
        config = {"dtype": config.get("dtype", config.get("torch_dtype")), **text}
    try:
        groups = layer_groups(config)
    except UnknownArchitectureError as error:
        raise UnknownArchitectureError(f"{name}: {error}") from error
    if not groups:
        raise UnknownArchitectureError(f"{name}: the configuration describes no layer that keeps a cache")
    heads = ("num_attention_heads", "n_head", "n_heads")
    max_tokens = ("max_position_embeddings", "n_positions", "max_seq_len")
    return KVSpec(
        name=name,
        model_type=str(config["model_type"]),
        groups=groups,
        dtype=str(config.get("dtype") or config.get("torch_dtype") or "bfloat16"),
        num_attention_heads=integer(config, *heads) if any(config.get(field) for field in heads) else 0,
        weight_bytes=weight_bytes(config),
        max_tokens=next((integer(config, field) for field in max_tokens if config.get(field)), None),
    )


def _read_json(file: Path) -> dict[str, Any]:
    if file.stat().st_size > MAX_CONFIG_BYTES:
        raise ReplayError(f"{file}: larger than {MAX_CONFIG_BYTES} bytes, which no model configuration is")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ReplayError(f"{file}: not a JSON configuration: {error}") from error
    if not isinstance(config, dict):
        raise ReplayError(f"{file}: a model configuration is a JSON object, this is a {type(config).__name__}")
    return config
