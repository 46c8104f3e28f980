"""The house rules, as tests: who may import whom, what a plain import must not load, and how long a file may be."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {"hitledger", "hitledger_pytest", "hitledger_replay", "hitledger_reports"}
MAY_IMPORT = {
    "analyzer": {"hitledger", "hitledger_pytest"},
    "replay": {"hitledger", "hitledger_replay"},
    "reports": {"hitledger", "hitledger_reports"},
}
FORBIDDEN_NAMES = {"utils.py", "common.py", "helpers.py", "misc.py"}


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_run_one_way(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        allowed = OURS if path.name == "cli.py" else MAY_IMPORT[folder]  # the one module that knows all three
        assert imported_names(path) & OURS <= allowed, path


@pytest.mark.parametrize("statement", ["import hitledger", "import hitledger_reports.cli"])
def test_import_is_light(statement: str) -> None:
    code = f"import sys; {statement}; print(sorted({{'torch', 'transformers', 'polars'}} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.strip() == "[]"


def test_a_file_holds_one_concept() -> None:
    for folder in MAY_IMPORT:
        for path in (ROOT / folder).rglob("*.py"):
            assert path.name not in FORBIDDEN_NAMES, path
            assert len(path.read_text().splitlines()) <= 400, path
