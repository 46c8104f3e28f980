"""Prompt files, revisions and renderers that mean harm: never a pass, never a traceback, never a search without end."""

import os
from pathlib import Path

import pytest

from hitledger.check.conditions import CONDITIONS
from hitledger.check.render import render
from hitledger.check.run import CheckOptions, check
from hitledger.check.runner import Place, RenderError
from hitledger.check.shapes import volatile_matches
from hitledger.check.sources import load, load_changed
from hitledger.check.suspects import LISTED
from hitledger.errors import NothingToReadError, UsageError
from repositories import git

PROMPT = "You keep the ledger of a small harbour.\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "top.md").write_text(PROMPT)
    (tmp_path / "prompts" / "crlf.md").write_bytes(PROMPT.encode().replace(b"\n", b"\r\n"))
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "-c", "core.autocrlf=false", "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", b"\xff\xfe", "not UTF-8"),
        ("a.md", b" \n", "an empty system prompt"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.json", b'[{"name":' + b'{"a":' * 900 + b"1" + b"}" * 901 + b"]", "cannot be laid out"),
        ("a.json", b'[{"name": "\\ud800"}]', "not valid JSON"),
        ("a.json", b'[{"role": "user", "content": "Hi"}]', "a list of messages"),
        ("a.json", b'{"model": "gpt-4.1", "messages": [1, {"role": "user", "content": "Hi"}]}', "`messages` is no list"),
        ("a.json", b'{"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}], "tools": 7}', "`tools` is no"),
        ("a.json", b'{"system": 7, "messages": [{"role": "user", "content": "Hi"}]}', "`system` is no list"),
    ],
)  # fmt: skip
def test_files_that_are_no_prompt(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        check(CheckOptions(candidate=str(tmp_path / name)))


def test_files_that_never_end_or_never_begin(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "circle.md").symlink_to("circle.md")
    (tmp_path / "zero.md").symlink_to("/dev/zero")
    for name in ("pipe.md", "zero.md"):
        with pytest.raises(UsageError, match="not a regular file"):
            load(str(tmp_path / name), Place(tmp_path))
    with pytest.raises(NothingToReadError, match="cannot be read"):
        load(str(tmp_path / "circle.md"), Place(tmp_path))
    with pytest.raises(UsageError, match="no regular file"):
        check(CheckOptions(candidate=_file(tmp_path), known=str(tmp_path / "pipe.md")))


def _file(folder: Path) -> str:
    (folder / "prompt.md").write_text(PROMPT)
    return str(folder / "prompt.md")


@pytest.mark.parametrize(
    "text",
    [
        "{" + "now" * 60_000,
        "{{now" + " " * 200_000 + "}",
        "%(" + "a." * 60_000,
        "call:" + " " * 200_000,
        " M " + "a." * 100_000 + " x",
        "request_id:" * 40_000,
        "0a" * 200_000,
        "date " * 60_000,
        "/home/" * 60_000,
    ],
    ids=lambda text: text[:12].strip(),
)
def test_the_search_for_volatile_text_ends(text: str) -> None:
    """Each took minutes or never ended under patterns whose repetitions have no bound; a hang fails the whole run."""
    assert len(volatile_matches(text)) <= 1


def test_of_many_alike_some_are_listed_and_the_rest_is_counted(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Today is 2026-05-04.\n" * 5_000)
    found = check(CheckOptions(candidate=str(tmp_path / "prompt.md"))).volatile
    assert [one.line for one in found] == list(range(1, LISTED + 1))
    assert found[-1].note.endswith("4,980 more of these are not listed")


@pytest.mark.parametrize(
    "spec",
    ["git:--output=x:top.md", "git:-x:top.md", "git:main:../../etc/passwd", "git:main:/etc/passwd", "git:main;touch x:top.md",
     "git:$(touch x):top.md", "git:main:*.md", "git:main::(top)top.md", "git:main..main:top.md", "git:^main:top.md", "git:main\n:top.md"],
)  # fmt: skip
def test_revisions_are_no_options_no_patterns_and_no_commands(repository: Path, spec: str) -> None:
    with pytest.raises((UsageError, NothingToReadError)):
        load(spec, Place(repository))
    with pytest.raises((UsageError, NothingToReadError)):
        load_changed(("top.md",), spec.split(":")[1]) if spec.split(":")[1] != "main" else load(spec, Place(repository))
    assert not (repository / "x").exists()


def test_paths_are_those_seen_from_the_working_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "prompts")
    for path in ("../top.md", "./../prompts/../top.md"):
        (part,) = load(f"git:main:{path}", Place(Path.cwd())).parts
        assert (part.name, part.file, part.text) == ("", "../top.md", PROMPT)
    in_git, on_disk = load("git:main:..", Place(Path.cwd())), load("..", Place(Path.cwd()))
    assert (
        {part.name for part in in_git.parts} == {part.name for part in on_disk.parts} == {"prompts/crlf.md", "top.md"}
    )


def test_line_ends_are_the_same_from_disk_and_from_git(repository: Path) -> None:
    old, new = load_changed(("prompts/crlf.md",), "HEAD")
    assert old is not None
    assert old.parts[0].text == new.parts[0].text == PROMPT.replace("\n", "\r\n")


def test_a_revision_that_is_not_there_makes_no_file_new(repository: Path) -> None:
    with pytest.raises(NothingToReadError, match="no such revision"):
        load_changed(("top.md",), "nowhere")
    old, _ = load_changed((str(repository / "top.md"),), "HEAD")
    assert old is not None
    assert [part.name for part in old.parts] == ["top.md"]


def test_before_the_first_commit_every_file_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _file(tmp_path)
    git(tmp_path, "init", "-q")
    assert load_changed(("prompt.md",), "HEAD")[0] is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("answer.write_text('[1]'); os._exit(0)", "no whole answer"),
        ("answer.write_text('{\"values\": 3}'); os._exit(0)", "no whole answer"),
        ('answer.write_text(\'{"values": ["{", "{"]}\'); os._exit(0)', "not JSON"),
        ("answer.write_text('[' * 100000); os._exit(0)", "no whole answer"),
        ("os.mkfifo(answer); os._exit(0)", "ends before it gives a prompt"),
        ("answer.symlink_to('/etc/passwd'); os._exit(0)", "no whole answer"),
        ("shutil.rmtree(answer.parent); return 'x' * 40", "cannot be run"),
        ("os.kill(0, 9)", "ends before it gives a prompt"),
        ("return input()", "EOF when reading a line"),
        ("raise ValueError(chr(0xD800) * 9)", "raises ValueError"),
        ("raise ValueError('y' * 10**6)", "raises ValueError: yyy"),
        ("return [[]] * 3", "holds objects"),
        ("v = 'x'\n    for _ in range(10**5): v = [v]\n    return v", "not JSON"),
        ("os.kill(os.getpid(), signal.SIGSTOP); return 'x' * 40", "not done within 1 s"),
        ("while True: os.write(1, b'x' * 65536)", "File too large|not done within"),
    ],
)
def test_renderers_that_forge_break_or_flood(tmp_path: Path, body: str, message: str) -> None:
    (tmp_path / "own.py").write_text(
        "import json, os, shutil, signal, sys\nfrom pathlib import Path\n"
        f"answer = Path(json.loads(sys.argv[1])['answer'])\ndef f():\n    {body}\n"
    )
    with pytest.raises((RenderError, UsageError), match=message) as caught:
        check(CheckOptions(candidate="own:f", place=Place(tmp_path, seconds=1 if "done within" in message else 60)))
    assert len(str(caught.value)) < 3_000


@pytest.mark.parametrize("target", ["a b:f", "-x:f", "x;y:f", "own:f()", "own\n:f", ".own:f"])
def test_names_that_are_no_renderer(tmp_path: Path, target: str) -> None:
    with pytest.raises(NothingToReadError):
        load(target, Place(tmp_path))


def test_a_renderer_in_a_file_with_an_odd_name(tmp_path: Path) -> None:
    (tmp_path / "a b;$(x).py").write_text("def f():\n    return 'You keep the ledger.'\n")
    assert render("a b;$(x).py:f", Place(tmp_path), CONDITIONS[:1]).reference == "You keep the ledger."
