"""Which files an input means."""

import io
import os
import sys
from pathlib import Path

import pytest

from hitledger.errors import NothingToReadError
from hitledger.logs.discover import discover
from hitledger.logs.ingest import Ingest
from hitledger.onscreen import escaped


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with logs as agents lay them out."""
    for name in ("logs/b.jsonl", "logs/a.jsonl", "logs/a/agents/x.jsonl", "logs/.hidden.jsonl", "logs/.git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*inputs: str) -> tuple[list[str], list[tuple[str, str]]]:
    ingest = Ingest()
    found = [file.name for file in discover(inputs, ingest)]
    return found, [(refusal.file, refusal.reason) for refusal in ingest.refusals]


def test_a_folder_is_read_in_the_order_of_its_names(tree: Path) -> None:
    expected = ["logs/.hidden.jsonl", "logs/a.jsonl", "logs/a/agents/x.jsonl", "logs/b.jsonl"]
    assert names("logs") == (expected, [])
    assert names("logs/") == (expected, [])
    assert names(str(tree / "logs"))[0] == [str(tree / name) for name in expected]
    os.chdir("logs")
    assert names(".")[0] == [name.removeprefix("logs/") for name in expected]


def test_each_file_once_in_the_order_given(tree: Path) -> None:
    assert names("logs/b.jsonl", "logs", "logs/b.jsonl")[0] == [
        "logs/b.jsonl",
        "logs/.hidden.jsonl",
        "logs/a.jsonl",
        "logs/a/agents/x.jsonl",
    ]


def test_globs(tree: Path) -> None:
    assert names("logs/*.jsonl")[0] == ["logs/.hidden.jsonl", "logs/a.jsonl", "logs/b.jsonl"]
    assert names("logs/**/x.jsonl")[0] == ["logs/a/agents/x.jsonl"]
    assert names("logs/*.csv") == ([], [("logs/*.csv", "no file matches")])
    (tree / "what[1].jsonl").write_text("")
    assert names("what[1].jsonl")[0] == ["what[1].jsonl"]


def test_links_are_followed_and_loops_end(tree: Path) -> None:
    (tree / "logs/a/loop").symlink_to(tree / "logs", target_is_directory=True)
    (tree / "logs/c.jsonl").symlink_to("b.jsonl")
    (tree / "logs/gone.jsonl").symlink_to("nowhere")
    found, refused = names("logs")
    assert found == ["logs/.hidden.jsonl", "logs/a.jsonl", "logs/a/agents/x.jsonl", "logs/b.jsonl"]
    assert refused == [("logs/gone.jsonl", "cannot be read: No such file or directory")]


def test_a_link_to_itself_costs_nothing_but_itself(tree: Path) -> None:
    (tree / "logs/self").symlink_to("self")
    found, refused = names("logs")
    assert len(found) == 4
    assert refused == [("logs/self", "cannot be read: Too many levels of symbolic links")]


def test_an_empty_name_is_not_the_current_folder(tree: Path) -> None:
    assert names("") == ([], [('""', "an empty name; the current folder is .")])


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NothingToReadError, match="standard input is closed"):
        names("-")


def test_what_is_missing_or_no_file_is_said_and_the_rest_taken(tree: Path) -> None:
    os.mkfifo("logs/pipe")
    found, refused = names("none.jsonl", "logs")
    assert len(found) == 4
    assert refused == [
        ("none.jsonl", "cannot be read: No such file or directory"),
        ("logs/pipe", "neither a file nor a folder (pipe it in and name it -)"),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_without_permission(tree: Path) -> None:
    (tree / "logs/a").chmod(0)
    try:
        assert names("logs")[1] == [("logs/a", "cannot be read: Permission denied")]
    finally:
        (tree / "logs/a").chmod(0o755)


def test_an_unreadable_folder_is_said(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert names("logs") == (
        ["logs/.hidden.jsonl", "logs/a.jsonl", "logs/b.jsonl"],
        [("logs/a", "cannot be read: Permission denied")],
    )


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a":1}')))
    (file,) = discover(["-"], Ingest())
    assert (file.path, file.name, file.content) == (None, "-", b'{"a":1}')


def test_no_input_means_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(NothingToReadError, match=r"no logs in the usual places \(~/\.claude/projects, "):
        names()
    for place in (".codex/sessions/2026", ".claude/projects/-home-user-project"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "x.jsonl").write_text("")
    assert names() == (["~/.claude/projects/-home-user-project/x.jsonl", "~/.codex/sessions/2026/x.jsonl"], [])
    (tmp_path / "elsewhere/projects").mkdir(parents=True)
    (tmp_path / "elsewhere/projects/y.jsonl").write_text("")
    assert names()[0][2:] == ["$CLAUDE_CONFIG_DIR/projects/y.jsonl"]


def test_names_are_safe_to_print() -> None:
    assert escaped("a\x1b[31m/b\n\udcff/größe 1.jsonl") == "a\\x1b[31m/b\\n\\udcff/größe 1.jsonl"
