"""The generated tree of transcripts: the same bytes every time, and the same prompts whatever the way of reading."""

import gzip
import importlib.util
import sys
from pathlib import Path
from typing import Any

from hitledger.logs import claude_code
from hitledger.logs.files import LogFile
from log_reading import ROOT, read


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("transcripts", ROOT / "benchmarks/transcripts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["transcripts"] = module
    spec.loader.exec_module(module)
    return module


def test_cut_at_once_or_when_asked_is_the_same(tmp_path: Path) -> None:
    generator().write_tree(tmp_path, 4, 100)
    plain = sorted(tmp_path.rglob("*.jsonl"))
    for path in plain:
        path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    deferred = read(claude_code, *(LogFile(path, path.name) for path in plain))
    at_once = read(claude_code, *(LogFile(path.with_suffix(".jsonl.gz"), path.name) for path in plain))
    assert len(deferred.calls) == 4 * 100 + 100 // 6
    for left, right in zip(deferred.calls, at_once.calls, strict=True):
        assert left.id == right.id
        assert (len(left.prompt), left.prompt.thinking()) == (len(right.prompt), right.prompt.thinking())
        assert left.prompt.own == right.prompt.own


def test_the_made_up_tree_is_always_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        generator().write_tree(tmp_path / name, 2, 30)
    one, two = (
        [(path.relative_to(tmp_path / name), path.read_bytes()) for path in sorted((tmp_path / name).rglob("*.jsonl"))]
        for name in ("one", "two")
    )
    assert one == two
