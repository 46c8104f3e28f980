"""`hitledger replay`, `reconcile` and `models` as a user calls them."""

import json
import sys
from pathlib import Path

import pytest
import torch

from hitledger.measurement import load
from hitledger_replay.models import command as models_command
from hitledger_replay.models import smollm2
from hitledger_replay.sessions import command
from hitledger_replay.sessions import replay as replay_module
from hitledger_reports import cli

torch.set_num_threads(1)
FIXTURES = Path(__file__).parent.parent / "fixtures"
SCENARIO = str(FIXTURES / "scenarios/03-mcp-tools-reordered.json")


def hitledger(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["hitledger", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


@pytest.fixture(autouse=True)
def _no_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are not what these tests are about."""
    monkeypatch.setattr(replay_module, "calibrate", lambda engine, vocabulary_size, max_tokens: ())


def test_replay_then_reconcile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit, measured = str(tmp_path / "a.json"), tmp_path / "m.json"
    events, metrics = tmp_path / "e.jsonl", tmp_path / "p.txt"
    assert hitledger(monkeypatch, "audit", SCENARIO, "--json", audit, "--quiet") == 0
    files = ("--json", str(measured), "--events", str(events), "--metrics", str(metrics))
    assert hitledger(monkeypatch, "replay", SCENARIO, "--runs", "1", "--audit", audit, *files) == 0
    out = capsys.readouterr().out
    assert "expected = measured on 3 of 3 calls" in out
    assert "1 broken call computed 1,088 tokens again" in out
    assert "tools.reordered" in out
    found = load(str(measured))
    assert [call.recomputed_tokens for call in found.calls] == [0, 0, 1088]
    rows = json.loads(measured.read_text())["calls"]
    wanted = {"id", "session", "prompt_tokens", "expected_cached_tokens", "measured_cached_tokens", "reasons", "ttft_ms",
              "reported_cache_read_tokens", "predicted_ttft_ms", "ttft_without_break_ms", "provenance"}  # fmt: skip
    assert wanted <= rows[2].keys()
    assert sum(rows[2]["reasons"].values()) == rows[2]["prompt_tokens"] - rows[2]["measured_cached_tokens"]
    assert rows[2]["ttft_without_break_ms"] > 0
    hits = sum(call.measured_cached_tokens for call in found.calls)
    assert f'vllm:prefix_cache_hits_total{{model_name="tiny"}} {hits}\n' in metrics.read_text()
    assert {json.loads(line)["type"] for line in events.read_text().splitlines()} == {"BlockStored", "SequenceEvent"}
    assert hitledger(monkeypatch, "reconcile", audit, str(measured)) == 0
    measured.write_text(measured.read_text().replace('"measured_cached_tokens":288', '"measured_cached_tokens":272'))
    assert hitledger(monkeypatch, "reconcile", audit, str(measured)) == 1
    assert "EXPECTED AND MEASURED DIFFER" in capsys.readouterr().out


def test_blocks_beyond_all_memory_are_refused_with_the_sizes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hitledger(monkeypatch, "replay", SCENARIO, "--block-size", "99999999999999") == 1
    assert "blocks         9 of 99999999999999 tokens" in capsys.readouterr().err
    assert hitledger(monkeypatch, "replay", SCENARIO, "--block-size", "99999999999999", "--mode", "plan") == 0


def test_finished_calls_are_kept_until_the_result_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    arguments = ("replay", SCENARIO, "--runs", "1", "--json", str(path), "--quiet")
    with monkeypatch.context() as full:
        full.setattr(command, "to_json", lambda found: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        assert hitledger(full, *arguments) == 1
    kept = (tmp_path / "m.json.partial").read_text()
    assert hitledger(monkeypatch, *arguments) == 0
    assert not (tmp_path / "m.json.partial").exists()
    assert f'"ttft_ms":{load(str(path)).calls[0].ttft_ms}' in kept


@pytest.mark.parametrize(("given", "wanted"), [(None, "passive"), ("active", "active")])
def test_threads_sleep_while_they_wait_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: str | None, wanted: str
) -> None:
    monkeypatch.setattr(cli, "environ", {"OMP_WAIT_POLICY": given} if given else {})
    assert hitledger(monkeypatch, "replay", SCENARIO, "--mode", "plan", "--quiet") == 0
    assert cli.environ == {"OMP_WAIT_POLICY": wanted}


def test_plan_mode_writes_the_same_bytes_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("1.json", "2.json"):
        assert hitledger(monkeypatch, "replay", SCENARIO, "--mode", "plan", "--json", str(tmp_path / name)) == 0
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--mode", "huge"), 2, "give plan, tiny or model"),
        (("--policy", "anthropic"), 2, "anthropic-5m"),
        (("--policy", ""), 2, "anthropic-5m"),
        (("--policy", "nobody-5m"), 2, "no rules of 'nobody'; known: alibaba, anthropic"),
        (("--mode", "plan", "--scale", "1e-9"), 1, "--scale leaves no token"),
        (("--scale", "half"), 2, "give auto"),
        (("--render", "html"), 2, "auto, template, text"),
        (("--render", "template"), 1, "use --render text"),
        (("--model", "no-such-folder"), 1, "no such model"),
        (("--device", "abacus"), 1, "is no device"),
        (("--kv-dtype", "int3"), 2, "fp8"),
        (("--attention", "magic"), 2, "tiled"),
        (("--json", "/no/such/folder/m.json"), 2, "does not exist"),
        (("--url", "http://127.0.0.1:9"), 1, "is the server running"),
        (("--url", "localhost"), 2, "http://HOST:PORT"),
        (("--url", "http://127.0.0.1:9", "--timeout", "-1"), 2, "seconds above 0"),
        (("--url", "http://127.0.0.1:9", "--timeout", "nan"), 2, "seconds above 0"),
        (("--url", "http://127.0.0.1:9", "--events", "e.jsonl", "--runs", "2"), 2, "--runs, --events: not with --url"),
        (("--url", "http://127.0.0.1:9", "--device", "cpu"), 2, "--device: not with --url"),
        (("--timeout", "5", "--server-engine", "vllm"), 2, "--server-engine, --timeout: only with --url"),
        (("--events", "/no/such/folder/e.jsonl"), 2, "does not exist"),
        (("--json", "/"), 2, "give a file"),
        (("--json", "x.json", "--metrics", "./x.json"), 2, "--metrics x.json: --json is written there"),
        (("--audit", "/no/such/audit.json"), 3, "cannot be read"),
    ],
)
def test_what_goes_wrong_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.setattr("hitledger_replay.servers.client.BACKOFF_SECONDS", 0.001)
    assert hitledger(monkeypatch, "replay", SCENARIO, "--quiet", *arguments) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_models(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)
    assert hitledger(monkeypatch, "models", "list") == 0
    assert "hitledger models install smollm2" in capsys.readouterr().out
    assert hitledger(monkeypatch, "models", "install", "gpt5") == 2
    assert "only smollm2" in capsys.readouterr().err
    file = tmp_path / "SmolLM2.gguf"
    monkeypatch.setattr(models_command, "install_smollm2", lambda: file)
    assert hitledger(monkeypatch, "models", "install", "smollm2") == 0
    assert "installed SmolLM2.gguf" in capsys.readouterr().out
