"""Git repositories of tests."""

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=check", "-c", "user.email=check@localhost", "-c", "commit.gpgSign=false")


def git(folder: Path, *arguments: str) -> str:
    """What git prints, run in a folder, whatever the machine's own settings are."""
    command = ["git", *IDENTITY, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
