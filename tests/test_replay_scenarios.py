"""The scenarios through the engine: every call as the rule says, each break as the tokens it makes the engine compute.

Breaks that only a provider has (lifetime, model, account, key, look-back, marks, parameters) cost an engine nothing;
with a policy, those of lifetime, model, account and key show.
"""

from functools import cache
from pathlib import Path

import pytest
import torch

from hitledger.audit import with_unique_ids
from hitledger.logs.read import read_logs
from hitledger.measurement import CallMeasurement, Measurement, UnreplayedCall, exact_json
from hitledger.types import Call
from hitledger_replay.blockhash import CacheIdentity
from hitledger_replay.errors import ReplayError
from hitledger_replay.models.tiny import VOCABULARY_SIZE, ShippedTokenizer
from hitledger_replay.sessions import replay as replay_module
from hitledger_replay.sessions.demand import survey
from hitledger_replay.sessions.loop import SessionReplay
from hitledger_replay.sessions.options import Mode, ReplayOptions
from hitledger_replay.sessions.plan import PlannedCall, ReplayPlan
from hitledger_replay.sessions.planengine import PlanEngine
from hitledger_replay.sessions.provider_policy import ProviderPolicy, parse_policy
from hitledger_replay.sessions.render import PromptRenderer, Target
from hitledger_replay.sessions.replay import replay_calls

torch.set_num_threads(1)
FIXTURES = Path(__file__).parent.parent / "fixtures"
SCENARIOS = {path.stem[:2]: path for path in sorted((FIXTURES / "scenarios").glob("*.json"))}
SIZE = 16
# number of the scenario -> calls (from 0) that lose tokens on an engine, whatever the provider
BROKEN = {
    "01": (1, 2), "02": (3,), "03": (2,), "04": (2,), "05": (2,), "06": (2,), "13": (3,), "14": (2,), "17": (2,),
    "18": (2, 3), "20": (1,), "31": (3, 4), "34": (2,), "35": (2,),
}  # fmt: skip
# those that a five-minute lifetime, another model, account or key add
PROVIDER = {"09": (3,), "10": (2, 3), "19": (1, 3), "33": (2, 3), "36": (1, 2)}


@cache
def calls_of(number: str) -> tuple[Call, ...]:
    return with_unique_ids(read_logs([str(SCENARIOS[number])]).calls())


def plan_of(number: str, policy: ProviderPolicy | None = None) -> ReplayPlan:
    renderer = PromptRenderer(Target(ShippedTokenizer(), VOCABULARY_SIZE, None, {}))
    return ReplayPlan(calls_of(number), renderer, VOCABULARY_SIZE, policy)


def replayed(number: str, policy: ProviderPolicy | None = None) -> list[CallMeasurement | UnreplayedCall]:
    lifetime = float(policy.seconds) if policy else None
    replay = SessionReplay(PlanEngine(3000, SIZE, CacheIdentity("m")), lifetime=lifetime)
    return list(replay.run(plan_of(number, policy), lambda call_id: None))


def shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def losing(rows: list[CallMeasurement | UnreplayedCall]) -> tuple[int, ...]:
    return tuple(i for i, row in enumerate(rows) if isinstance(row, CallMeasurement) and row.recomputed_tokens)


@pytest.mark.parametrize("number", SCENARIOS)
def test_every_call_reuses_what_the_rule_says_and_breaks_show_as_recomputed_tokens(number: str) -> None:
    rows = replayed(number)
    assert losing(rows) == BROKEN.get(number, ())
    earlier: dict[str, tuple[int, ...]] = {}
    for item, row in zip(plan_of(number), rows, strict=True):
        if not isinstance(item, PlannedCall):
            assert isinstance(row, UnreplayedCall)
            continue
        assert isinstance(row, CallMeasurement)
        cap = (len(item.prompt) - 1) // SIZE * SIZE
        best = max((min(shared(item.prompt, old) // SIZE * SIZE, cap) for old in earlier.values()), default=0)
        left = min(len(earlier.get(item.predecessor or "", ())) // SIZE * SIZE, cap)
        assert row.measured_cached_tokens == row.expected_cached_tokens == best
        assert row.recomputed_tokens == max(left, best) - best
        earlier[item.id] = (*item.prompt, *item.reply[:-1])


@pytest.mark.parametrize("number", SCENARIOS)
def test_a_provider_s_policy_adds_what_only_a_provider_loses(number: str) -> None:
    rows = replayed(number, parse_policy("anthropic-5m"))
    assert losing(rows) == tuple(sorted({*BROKEN.get(number, ()), *PROVIDER.get(number, ())}))
    for row in rows:
        assert not isinstance(row, CallMeasurement) or row.expected_cached_tokens == row.measured_cached_tokens


def test_refused_calls_are_skipped_and_said() -> None:
    skipped = [row for row in replayed("32") if isinstance(row, UnreplayedCall)]
    assert [row.reason for row in skipped] == ["refused with status 400"]


@pytest.mark.parametrize(
    "folder", ["claude-code", "codex", "cline", "pi", "gemini-cli", "lmcache", "atif", "bodies", "vcr"]
)
def test_recorded_sessions_of_every_kind_reuse_what_the_rule_says(folder: str) -> None:
    calls = with_unique_ids(read_logs([str(FIXTURES / folder)]).calls())
    renderer = PromptRenderer(Target(ShippedTokenizer(), VOCABULARY_SIZE, None, {}))
    plan = ReplayPlan(calls, renderer, VOCABULARY_SIZE)
    engine = PlanEngine(survey(plan, SIZE, None).num_blocks, SIZE, CacheIdentity("m"))
    rows = [row for row in SessionReplay(engine).run(plan, lambda call_id: None) if isinstance(row, CallMeasurement)]
    assert rows
    assert engine.cache.stats.num_evictions == 0
    for row in rows:
        assert row.expected_cached_tokens == row.measured_cached_tokens
        assert sum(row.reasons.values()) == row.prompt_tokens - row.measured_cached_tokens


def test_stand_ins_of_a_real_session_reuse_what_the_provider_reported() -> None:
    """Sixty calls of Claude Code: the tokens differ, the lengths do not, so reuse is the reported one less a part block."""
    path = str(FIXTURES / "claude-code/real-session")
    calls = with_unique_ids(read_logs([path]).calls())
    renderer = PromptRenderer(Target(ShippedTokenizer(), VOCABULARY_SIZE, None, {}))
    replay = SessionReplay(PlanEngine(6000, SIZE, CacheIdentity("m")))
    rows = list(replay.run(ReplayPlan(calls, renderer, VOCABULARY_SIZE), lambda call_id: None))
    near = 0
    for row in rows:
        assert isinstance(row, CallMeasurement)
        assert row.reported_cache_read_tokens is not None
        near += abs(row.measured_cached_tokens - row.reported_cache_read_tokens) <= SIZE
    assert (near, len(rows)) == (
        51,
        60,
    )  # the others: a prefix warm before, five short of a message, three breaks at the provider


@cache
def measured(number: str, **options: object) -> Measurement:
    return replay_calls(calls_of(number), ReplayOptions(mode=Mode.TINY, runs=2, **options))  # type: ignore[arg-type]


def test_a_real_engine_measures_the_same_with_times() -> None:
    found = measured("31")
    plan = [row for row in replayed("31") if isinstance(row, CallMeasurement)]
    assert [row.measured_cached_tokens for row in found.calls] == [row.measured_cached_tokens for row in plan]
    for row in found.calls:
        assert row.expected_cached_tokens == row.measured_cached_tokens
        assert row.ttft_ms is not None
        assert row.timing is not None
        parts = row.timing.lookup_ms + row.timing.load_ms + row.timing.compute_ms + row.timing.sample_ms
        assert row.timing.runs == 2
        assert parts > 0
        assert (row.ttft_without_break_ms is not None) == (row.recomputed_tokens > 0)
        assert row.predicted_ttft_ms is not None
        assert row.reused_bytes == row.measured_cached_tokens * 2 * 2 * 16 * 4  # layers, K and V, dim, float32
    memory = found.memory
    assert memory is not None
    assert memory.live_bytes + memory.rounding_bytes + memory.free_bytes == memory.pool_bytes
    assert memory.bytes_per_token == 2 * 2 * 16 * 4


def test_a_stopped_replay_goes_on_and_writes_the_same_exact_part(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise Stop

    path = tmp_path / "m.json.partial"
    options = ReplayOptions(mode=Mode.TINY, runs=1, checkpoint=path)
    with pytest.raises(Stop):
        replay_calls(calls_of("31"), options, stop)
    kept = path.read_text()
    assert len(kept.splitlines()) == 4
    resumed = replay_calls(calls_of("31"), options)
    assert len(path.read_text().splitlines()) == 6  # whoever writes the result removes it
    whole = replay_calls(calls_of("31"), ReplayOptions(mode=Mode.TINY, runs=1))
    assert exact_json(resumed) == exact_json(whole)
    assert f'"ttft_ms":{resumed.calls[0].ttft_ms}' in kept  # the finished calls' times were not measured again


@pytest.mark.parametrize("kept", [True, False])
def test_ctrl_c_in_the_middle_says_how_far_it_came(tmp_path: Path, kept: bool) -> None:
    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    path = tmp_path / "m.json.partial" if kept else None
    words = "run the same command again" if kept else "give --json FILE"
    with pytest.raises(ReplayError, match=f"^stopped after 3 of 10 calls; {words}") as error:
        replay_calls(calls_of("31"), ReplayOptions(mode=Mode.TINY, runs=2, checkpoint=path), stop)
    assert error.value.exit_code == 1
    assert path is None or len(path.read_text().splitlines()) == 4


@pytest.mark.parametrize("where", ["load_model", "calibrate"])
def test_ctrl_c_before_the_first_call_keeps_what_an_earlier_run_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "m.json.partial"
    path.write_text("finished calls")
    monkeypatch.setattr(replay_module, where, stop)
    with pytest.raises(ReplayError, match=r"^stopped before the first call") as error:
        replay_calls(calls_of("31"), ReplayOptions(mode=Mode.TINY, checkpoint=path))
    assert error.value.exit_code == 1
    assert path.read_text() == "finished calls"


def test_scale_and_plan_modes() -> None:
    found = replay_calls(calls_of("03"), ReplayOptions(mode=Mode.PLAN, scale=0.25))
    assert found.model_note == "no tensors: reuse is that of the block pool, times are predicted"
    full = [row for row in replayed("03") if isinstance(row, CallMeasurement)]
    assert found.scale == 0.25
    for scaled, row in zip(found.calls, full, strict=True):
        assert scaled.prompt_tokens == row.prompt_tokens // 4
        assert abs(scaled.measured_cached_tokens - row.measured_cached_tokens / 4) <= 2 * SIZE
        assert scaled.expected_cached_tokens == scaled.measured_cached_tokens
        assert scaled.certainty == "estimated"
        assert "scaled to 0.25" in scaled.note
        assert (scaled.ttft_ms, scaled.reused_bytes) == (None, None)
        assert scaled.predicted_ttft_ms is not None
