"""Another working folder with the same files: links to them, and a git repository of another state."""

import os
import shutil
import subprocess
from pathlib import Path

BRANCH = "hitledger-check"
AUTHOR = {
    "GIT_AUTHOR_NAME": "check",
    "GIT_AUTHOR_EMAIL": "check@localhost",
    "GIT_COMMITTER_NAME": "check",
    "GIT_COMMITTER_EMAIL": "check@localhost",
    "GIT_AUTHOR_DATE": "2026-01-15T12:00:00Z",  # the same commit at every run
    "GIT_COMMITTER_DATE": "2026-01-15T12:00:00Z",
}
SECONDS = 20


def links_to(origin: Path, folder: Path) -> None:
    """Link every entry of `origin` but its git folder, so that relative reads work and the path differs."""
    folder.mkdir()
    for entry in sorted(origin.iterdir()):
        if entry.name != ".git":
            (folder / entry.name).symlink_to(entry, target_is_directory=entry.is_dir())


def git_state(folder: Path) -> dict[str, str]:
    """Make a repository with one commit of its own and give the variables that name it; none without git."""
    git = shutil.which("git")
    if git is None:
        return {}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | AUTHOR
    for arguments in (
        ("init", "--quiet", "--initial-branch", BRANCH),
        ("commit", "--quiet", "--allow-empty", "--no-verify", "--message", "another state"),
    ):
        command = [git, "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False)
        if done.returncode:
            return {}
    return {"GIT_DIR": str(folder / ".git"), "GIT_WORK_TREE": str(folder)}
