"""`hitledger simulate` and `hitledger size` from the shell: files, exit codes, one line for an error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hitledger.errors import HitledgerError, NothingToReadError, UsageError
from hitledger_replay.errors import ReplayError, TraceError
from hitledger_replay.simulation.definitions import Definition
from hitledger_reports.cli import app

FIXTURES = Path(__file__).parent.parent / "fixtures" / "traces"
MOONCAKE = str(FIXTURES / "mooncake-synthetic-80.jsonl")


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_simulate_writes_what_it_promises(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    arguments = ("simulate", MOONCAKE, "--capacity-blocks", "60,inf", "--policy", "lru,belady", "--window", "last50")
    shown = invoke(*arguments, "--json", str(out))
    rows = json.loads(out.read_text())["results"]
    assert [(row["policy"], row["capacity_blocks"], row["hit_tokens"], row["total_tokens"]) for row in rows] == [
        ("lru", 60, 14_336, 546_830),
        ("lru", None, 48_832, 546_830),
        ("belady", 60, 47_616, 546_830),
        ("belady", None, 48_832, 546_830),
    ]
    assert all(row["trace"] == "mooncake-synthetic-80" and row["definition"].startswith("tokens;") for row in rows)
    assert rows[0]["hit_rate"] == 14_336 / 546_830
    assert "2.62%" in shown
    again = tmp_path / "again.json"
    invoke(*arguments, "--json", str(again))
    assert again.read_bytes() == out.read_bytes()


def test_simulate_a_folder_adds_up(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    shown = invoke("simulate", str(FIXTURES), "--all-definitions", "--json", str(out))
    report = json.loads(out.read_text())
    sums = [row for row in report["results"] if row["trace"] == "all" and row["definition"].startswith("tokens; full")]
    single = [r for r in report["results"] if r["trace"] != "all" and r["definition"].startswith("tokens; full")]
    assert sum(row["total_tokens"] for row in sums) == sum(row["total_tokens"] for row in single)
    assert {row["block_size"] for row in sums} == {64, 512}
    assert "over 2 traces" in shown


def test_simulate_block_sizes_backends_and_tiers(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    invoke("simulate", MOONCAKE, "--block-size", "512,1024,4096", "--json", str(out))
    rows = json.loads(out.read_text())["results"]
    assert [row["block_size"] for row in rows] == [512, 1024, 4096]
    assert rows[0]["hit_tokens"] > rows[1]["hit_tokens"] > rows[2]["hit_tokens"], "larger blocks find less"
    invoke("simulate", MOONCAKE, "--backends", "3", "--routing", "cache-aware", "--json", str(out))
    assert json.loads(out.read_text())["routing"] == "cache-aware"
    invoke("simulate", MOONCAKE, "--capacity-blocks", "60", "--host-blocks", "100", "--json", str(out))
    row = json.loads(out.read_text())["results"][0]
    assert sum(row["hit_tokens_by_tier"].values()) == row["hit_tokens"] > row["hit_tokens_by_tier"]["device"]


def test_size_writes_what_it_promises(tmp_path: Path) -> None:
    out = tmp_path / "z.json"
    arguments = ("--tokens", "8192", "--sequences", "32", "--tp", "16", "--kv-dtype", "fp8", "--json", str(out))
    shown = invoke("size", "llama-3.1-8b", *arguments, "--memory", "80GB", "--claim", "16 GiB")
    report = json.loads(out.read_text())
    assert report["bytes_per_token"] == 65_536
    assert report["bytes_per_token_per_rank"] == [8_192] * 16
    assert report["logical_bytes"] == 16 * 2**30
    assert report["physical"]["live"] == 2 * 2**30
    assert {"theoretical_tokens", "allocatable_tokens", "stable_tokens"} <= set(report["capacity"])
    assert len(report["checklist"]) == 7
    assert report["claim"]["holds"]
    assert "16 ranks hold 2 copies" in shown


def test_size_of_samples_and_beams(tmp_path: Path) -> None:
    """40 prompt tokens are 2 full blocks and a tail of 8. Each sample of 30 tokens has its own tail and 2 blocks more."""
    out = tmp_path / "z.json"
    arguments = ("size", "llama-2-7b", "--tokens", "40", "--samples", "3", "--beams", "3", "--generated", "30")
    shown = invoke(*arguments, "--on-device", "0.5", "--json", str(out))
    parallel, beam = json.loads(out.read_text())["sharing"]
    assert (parallel["physical"], parallel["logical"], parallel["copies"]) == (2 + 3 * 3, 3 * 5, 2)
    assert parallel["saving"] == pytest.approx(4 / 15)
    assert beam["logical"] == 15
    assert beam["physical"] < parallel["physical"], "beams drop parents, samples do not"
    assert "saves 26.7%" in shown
    assert "offload 0.5" in shown


def test_simulate_puts_contiguous_memory_beside_paging_and_sums_it(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    shown = invoke("simulate", str(FIXTURES), "--json", str(out))
    rows = json.loads(out.read_text())["memory"]
    for layout in ("contiguous-max", "contiguous-pow2", "contiguous-oracle", "paged"):
        both = [row for row in rows if row["layout"] == layout and row["block_size"] == 512]
        total, first, second = both
        assert (total["trace"], total["live"]) == ("all", first["live"] + second["live"])
        assert f"{layout} {total['utilisation']:.1%}" in shown
    assert rows[0]["utilisation"] < rows[1]["utilisation"] < rows[2]["utilisation"]


def test_the_summary_has_blocks_too_without_being_asked(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    invoke("simulate", str(FIXTURES / "trace_0103.json"), str(FIXTURES / "trace_0291.json"), "--json", str(out))
    report = json.loads(out.read_text())
    assert {row["definition"] for row in report["results"]} == {Definition.BLOCK_TOKENS}
    assert [row["definition"] for row in report["summary"]] == [Definition.BLOCK_TOKENS, Definition.BLOCKS]


def test_what_is_asked_twice_is_answered_once(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    twice = ("--policy", "lru,lru", "--capacity-blocks", "9,9,inf,inf", "--block-size", "512,512")
    invoke("simulate", MOONCAKE, *twice, "--json", str(out))
    assert [row["capacity_blocks"] for row in json.loads(out.read_text())["results"]] == [9, None]


def test_a_trace_named_as_the_sums_is_refused(tmp_path: Path) -> None:
    for name in ("all", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(Path(MOONCAKE).read_bytes())
    with pytest.raises(UsageError, match="named 'all'"):
        invoke("simulate", str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["simulate", "nowhere"], NothingToReadError, "nowhere: no trace there"),
        (["simulate", MOONCAKE, "--policy", "best"], UsageError, "known policies"),
        (["simulate", MOONCAKE, "--window", "some"], UsageError, "known: all, last50"),
        (["simulate", MOONCAKE, "--block-size", "500"], UsageError, "cannot become blocks of 500"),
        (["simulate", MOONCAKE, "--block-size", "0"], UsageError, "block size '0'"),
        (["simulate", MOONCAKE, "--capacity-bytes", "1GB"], UsageError, "--model"),
        (["simulate", MOONCAKE, MOONCAKE], TraceError, "second trace"),
        (["size", "gpt-9"], ReplayError, "no such file, folder with a config.json, or built-in model"),
        (["size", "Llama-2-7"], ReplayError, "did you mean llama-2-7b"),
        (["size", "llama-2-7b", "--tp", "7"], UsageError, "32 KV heads cannot be split evenly over 7 ranks"),
        (["size", "llama-2-7b", "--json", "/nowhere/z.json"], HitledgerError, "/nowhere/z.json: cannot be written"),
        (["simulate", ""], NothingToReadError, "no trace there"),
        (["simulate", __file__], NothingToReadError, "nor is it a trace of Mooncake or kv-cache-tester"),
        (["size", "llama-2-7b", "--tokens", "0"], UsageError, "num_tokens"),
        (["size", "llama-2-7b", "--kv-dtype", "int3"], UsageError, "known: fp32"),
        (["size", "llama-2-7b", "--memory", "lots"], UsageError, "not a size"),
        (["size", "llama-2-7b", "--memory", "1GB"], ReplayError, "leave no memory"),
        (["size", "llama-2-7b", "--block-size", "0"], UsageError, "at least 1"),
        (["size", "llama-2-7b", "--samples", "-1"], UsageError, "from 1 to"),
        (["size", "llama-2-7b", "--samples", "9999999"], UsageError, "from 1 to"),
        (["size", "llama-2-7b", "--on-device", "0"], UsageError, "above 0"),
        (["size", "llama-2-7b", "--on-device", "nan"], UsageError, "above 0"),
        (["size", "llama-2-7b", "--tp", "99999999"], UsageError, "tensor_parallel must be from 1 to 65536"),
        (["simulate", MOONCAKE, "--backends", "0"], UsageError, "backends from 1"),
        (["simulate", MOONCAKE, "--lifetime", "nan"], UsageError, "lifetime must be positive"),
        (["simulate", MOONCAKE, "--capacity-bytes", "1GB", "--model", "mamba-2.8b"], ReplayError, "mamba-2.8b"),
    ],
)
def test_errors_are_ours(arguments: list[str], error: type[HitledgerError], message: str) -> None:
    with pytest.raises(error, match=message):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_an_error_is_one_line_with_its_exit_code() -> None:
    command = [sys.executable, "-m", "hitledger_reports.cli", "simulate", "nowhere"]
    code = "from hitledger_reports.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code, *command[3:]], capture_output=True, text=True, check=False)
    assert result.returncode == 3
    assert result.stderr == "hitledger: nowhere: no trace there (a *.json or *.jsonl file, or a folder of them)\n"


@pytest.mark.parametrize(
    "module", ["hitledger_replay.simulation.command", "hitledger_replay.cache", "hitledger_replay.sizecommand"]
)
def test_no_torch_is_loaded(module: str) -> None:
    code = f"import sys, {module}; print(sorted({{'torch', 'transformers'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_size_needs_no_numpy_and_simulate_says_what_it_needs() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from hitledger_reports.cli import main\n"
        "sys.argv = ['hitledger', *sys.argv[1:]]; main()"
    )
    size = subprocess.run(
        [sys.executable, "-c", code, "size", "llama-2-7b"], capture_output=True, text=True, check=False
    )
    assert (size.returncode, "524,288 bytes" in size.stdout) == (0, True)
    run = subprocess.run(
        [sys.executable, "-c", code, "simulate", MOONCAKE], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert (
        run.stderr
        == "hitledger: this command needs numpy: pip install numpy; the extra 'replay' has all that a replay needs\n"
    )
