"""A loaded model as a folder in transformers' format, for servers that read nothing else (vLLM)."""

import json
from pathlib import Path

from hitledger_replay.errors import ReplayError
from hitledger_replay.models.gguftokenizer import ByteLevelTokenizer
from hitledger_replay.models.loaded import LoadedModel


def export_model(loaded: LoadedModel, folder: Path) -> None:
    """Write weights, configuration and tokenizer. Raises ReplayError for a model whose tokenizer is not from a GGUF file."""
    if not isinstance(loaded.tokenizer, ByteLevelTokenizer):
        raise ReplayError(f"{loaded.name}: only models from GGUF files are exported")
    folder.mkdir(parents=True, exist_ok=True)
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save(folder / "tokenizer.json")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": loaded.chat_template,
        "model_max_length": loaded.max_tokens,
        **loaded.special_tokens,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, sort_keys=True), encoding="utf-8")
