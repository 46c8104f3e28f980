"""What the user names: files, folders, git revisions; lines of findings in them."""

from pathlib import Path

import pytest

from hitledger.check import gitfiles
from hitledger.check.findings import Level
from hitledger.check.lines import position_of
from hitledger.check.material import MaterialKind
from hitledger.check.run import CheckOptions, check
from hitledger.check.runner import Place, RenderError
from hitledger.check.sources import load, load_changed
from hitledger.errors import NothingToReadError, UsageError
from repositories import git

LASTING = "You keep the ledger of a small harbour.\nAnswer in one short sentence.\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.md").write_text(LASTING)
    (tmp_path / "prompts" / "tools.json").write_text('[{"name": "a"}]')
    (tmp_path / "prompts" / "picture.png").write_bytes(b"\x89PNG")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_a_revision_of_a_file_and_of_a_folder(repository: Path) -> None:
    (repository / "prompts" / "system.md").write_text("Changed.")
    place = Place(repository)
    file = load("git:main:prompts/system.md", place)
    assert [(part.name, part.file, part.text) for part in file.parts] == [("", "prompts/system.md", LASTING)]
    folder = load("git:HEAD:prompts", place)
    assert [(part.name, part.kind) for part in folder.parts] == [
        ("system.md", MaterialKind.SYSTEM),
        ("tools.json", MaterialKind.TOOLS),
    ]
    assert [part.name for part in load("prompts", place).parts] == ["system.md", "tools.json"]


def test_below_the_top_of_the_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "prompts")
    assert load("git:main:system.md", Place(repository)).parts[0].text == LASTING


def test_changed_files_against_a_revision(repository: Path) -> None:
    (repository / "prompts" / "new.md").write_text("A new prompt.")
    old, new = load_changed(("prompts/system.md", "prompts/new.md"), "HEAD")
    assert old is not None
    assert [part.name for part in old.parts] == ["prompts/system.md"]
    assert [part.name for part in new.parts] == ["prompts/system.md", "prompts/new.md"]


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("git:nowhere:prompts/system.md", NothingToReadError),
        ("git:main:prompts/none.md", NothingToReadError),
        ("git:main", UsageError),
        ("git::prompts/system.md", UsageError),
        ("git:--output=x:prompts/system.md", UsageError),
        ("git:main:/etc/passwd", UsageError),
        ("none.md", NothingToReadError),
        ("prompts/picture.png", UsageError),
    ],
)
def test_what_is_not_there(repository: Path, spec: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        load(spec, Place(repository))
    assert not (repository / "x").exists()


RENDERER = """
import json, os
from pathlib import Path
from parts import head

def request():
    tools = json.loads(Path("prompts/tools.json").read_text())
    return {"model": "gpt-4.1", "tools": tools, "messages": [{"role": "system", "content": head() + os.getcwd()}]}
"""


def test_a_renderer_of_a_revision_is_run_with_the_files_of_that_revision(repository: Path) -> None:
    """Its module, the module that imports, the file it reads and its folder's name are those of the commit."""
    (repository / "render.py").write_text(RENDERER)
    (repository / "parts.py").write_text("def head():\n    return 'You keep the ledger in '\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "renderer")
    (repository / "parts.py").write_text("def head():\n    return 'Changed, in '\n")
    (repository / "prompts" / "tools.json").write_text('[{"name": "b"}]')
    status = git(repository, "status", "--short")
    place = Place(repository, (str(repository),))
    for target in ("render:request", "render.py:request"):
        (part,) = load(f"git:HEAD:{target}", place).parts
        assert part.prompt.own[0].name == "a"
        assert part.prompt.own[1].text == f"You keep the ledger in {repository}"
        assert part.file == "render.py"
    (now,) = load("render:request", place).parts
    assert (now.prompt.own[0].name, now.prompt.own[1].text) == ("b", f"Changed, in {repository}")
    assert git(repository, "status", "--short") == status


def test_a_renderer_of_a_revision_that_takes_modules_of_the_work_tree_is_refused(repository: Path) -> None:
    (repository / "own.py").write_text(
        f"import sys\nsys.path.insert(0, {str(repository)!r})\nimport later\n"
        "def f():\n    return 'You keep the ledger.'\n"
    )
    git(repository, "add", "own.py")
    git(repository, "commit", "-q", "-m", "renderer")
    (repository / "later.py").touch()
    with pytest.raises(RenderError, match=r"later\.py is imported from the work tree"):
        load("git:HEAD:own:f", Place(repository))
    with pytest.raises(NothingToReadError, match="no such revision"):
        load("git:nowhere:own:f", Place(repository))


def test_a_link_in_a_revision_is_not_followed(repository: Path) -> None:
    (repository / "prompts" / "link.md").symlink_to("/etc/passwd")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "link")
    found = gitfiles.read("HEAD", "prompts", frozenset({".md", ".json"}))
    assert set(found) == {"prompts/system.md", "prompts/tools.json"}


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("Today is 2026-05-04.", "system.volatile_time"),
        ("It is 2026-05-04T08:00:12Z now.", "system.volatile_time"),
        ("Session id: 8f14e45f", "system.volatile_id"),
        ("Trace 123e4567-e89b-42d3-a456-426614174000 of today", "system.volatile_id"),
        ("Work in /home/ann/projects/harbour.", "system.env_state"),
        ("On branch main", "system.env_state"),
        (" M src/app.py", "system.env_state"),
        ("This is turn: 7", "system.volatile_text"),
        ("The date is {{ current_date }}.", "system.volatile_time"),
        ("Your id is ${SESSION_ID}.", "system.volatile_id"),
        ("Folder: {cwd}", "system.env_state"),
    ],
)
def test_volatile_looking_text_is_found_on_its_line(tmp_path: Path, line: str, cause: str) -> None:
    file = tmp_path / "system.md"
    file.write_text(LASTING + line + "\nBe brief.\n")
    (found,) = check(CheckOptions(candidate=str(file))).volatile
    assert (found.cause, found.level, found.line) == (cause, Level.WARNING, 3)


@pytest.mark.parametrize(
    "line",
    [
        "Knowledge reaches to May 2024; prices of 2019-01-01 are out of date.",
        "Berth 7 is 12:1 in slope, version 3.11.7 of the plan.",
        "Write {name} as JSON: {\"berth\": 1}.",
        "Read /etc/harbour.conf and https://example.org/users/home.",
        "Count the boats at each call.",
    ],
)  # fmt: skip
def test_lasting_text_is_not_suspected(tmp_path: Path, line: str) -> None:
    file = tmp_path / "system.md"
    file.write_text(LASTING + line)
    assert check(CheckOptions(candidate=str(file))).volatile == ()


def test_suspected_text_behind_the_last_mark_is_not_listed(tmp_path: Path) -> None:
    marked = '{"model":"claude-sonnet-4-5","system":[{"type":"text","text":"%s","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Today is 2026-05-04."}],"messages":[{"role":"user","content":"Hi"}]}'
    file = tmp_path / "body.json"
    file.write_text(marked % "Keep.")
    assert check(CheckOptions(candidate=str(file))).volatile == ()


def test_positions_in_json() -> None:
    source = '{\n "tools": [\n  {"name": "a"},\n  {"name": "b",\n   "d": "x, {y}]"}\n ]\n}'
    assert source[position_of(source, "tools[1].d") :].startswith('"x, {y}]"')
    assert source[position_of(source, "tools[1].none") :].startswith('{"name": "b"')
    assert source[position_of(source, "tools[7]") :].startswith("[\n")
    listed = '[\n {"name": "a"},\n {"name": "b"}\n]'
    assert source.count("\n", 0, position_of(listed, "tools[1]")) == 2
