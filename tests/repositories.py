"""Git repositories of tests."""

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=check", "-c", "user.email=check@localhost", "-c", "commit.gpgSign=false")


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, whatever the machine's own settings are."""
    subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True)
