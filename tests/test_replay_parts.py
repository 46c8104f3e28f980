"""The parts of a replay: stand-ins, scaling, rendering, expectations, policies, the TTFT model, resuming, runs."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hitledger.errors import NothingToReadError, UsageError
from hitledger.measurement import (
    MEASUREMENT_VERSION,
    CallMeasurement,
    CallTiming,
    Measurement,
    UnreplayedCall,
    exact_json,
    from_json,
    to_json,
)
from hitledger.segments import Api, Layout, hidden
from hitledger.types import Call, Certainty, EngineHint, Evidence, Place, Prompt, Usage, prompt_of
from hitledger_replay.blockhash import CacheIdentity
from hitledger_replay.engine.request import Request
from hitledger_replay.errors import CorruptPoolError, ReplayError
from hitledger_replay.events import CacheEvent
from hitledger_replay.models.tiny import ShippedTokenizer
from hitledger_replay.oracle import Oracle
from hitledger_replay.sessions.checkpoint import Checkpoint, fingerprint_of
from hitledger_replay.sessions.demand import require_context, scale_to_fit, survey
from hitledger_replay.sessions.eventlog import EventLog
from hitledger_replay.sessions.expected import ExpectedReads
from hitledger_replay.sessions.lifetimes import Lifetimes
from hitledger_replay.sessions.loop import SessionReplay
from hitledger_replay.sessions.memory import Demand, affordable_blocks, free_bytes, require_room
from hitledger_replay.sessions.options import Mode, ReplayOptions, choose_mode, parse_scale
from hitledger_replay.sessions.plan import PlannedCall, ReplayPlan
from hitledger_replay.sessions.planengine import PlanEngine
from hitledger_replay.sessions.provider_policy import parse_policy
from hitledger_replay.sessions.render import PromptRenderer, Rendering, RenderMode, Target
from hitledger_replay.sessions.runs import combined
from hitledger_replay.sessions.standin import scaled_ids, standin_ids
from hitledger_replay.sessions.ttft import TtftModel, TtftSample, fit

VOCABULARY = 200_019
NOTHING = Prompt(())
START = datetime(2026, 8, 4, 9, tzinfo=UTC)
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


def renderer(template: str | None = None, mode: RenderMode = RenderMode.AUTO) -> PromptRenderer:
    return PromptRenderer(Target(ShippedTokenizer(), VOCABULARY, template, {}), mode)


def call(call_id: str, prompt: Prompt = NOTHING, minutes: float = 0, **fields: object) -> Call:
    given = {"evidence": Evidence.EXACT, "provider": "anthropic", "model": "claude-sonnet-4-5", **fields}
    return Call(
        id=call_id,
        session="s",
        agent="main",
        place=Place("f", 1),
        prompt=prompt,
        started_at=START + timedelta(minutes=minutes),
        **given,  # type: ignore[arg-type]
    )


def chat(*texts: str) -> Prompt:
    roles = ("system", "user", "assistant")
    messages = [{"role": roles[0 if i == 0 else 1 + (i - 1) % 2], "content": text} for i, text in enumerate(texts)]
    return Layout().prompt({"messages": messages}, Api.CHAT)


def planned(call_id: str, prompt: tuple[int, ...], at: float = 0.0, **fields: object) -> PlannedCall:
    defaults: dict[str, object] = {
        "session": "s",
        "agent": "main",
        "predecessor": None,
        "reply": (),
        "reported_cache_read_tokens": None,
        "rendering": Rendering.TOKEN_IDS,
        "certainty": Certainty.EXACT,
        "note": "",
    }
    return PlannedCall(id=call_id, prompt=prompt, at=at, **{**defaults, **fields})  # type: ignore[arg-type]


@given(st.binary(min_size=1, max_size=16), st.integers(0, 50), st.integers(0, 50))
def test_standins_of_one_content_share_their_prefix(digest: bytes, short: int, more: int) -> None:
    longer = standin_ids(digest, short + more, 1000)
    assert longer[:short] == standin_ids(digest, short, 1000)
    assert len(longer) == short + more
    assert all(0 <= token < 1000 for token in longer)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=300), st.integers(0, 299), st.sampled_from([0.5, 0.25, 0.1]))
def test_scaling_keeps_where_two_prompts_part(ids: list[int], place: int, factor: float) -> None:
    place %= len(ids)
    other = [*ids[:place], ids[place] + 100, *ids[place + 1 :]]
    ours, theirs = scaled_ids(ids, factor, 1 << 31), scaled_ids(other, factor, 1 << 31)
    assert len(ours) == int(len(ids) * factor)
    shared = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b), len(ours))
    assert shared == min(int(place * factor), len(ours))
    assert scaled_ids([*ids, 1, 2, 3], factor, 1 << 31)[: len(ours)] == ours


def test_ids_of_the_log_are_used_as_they_are() -> None:
    (found,) = renderer(TEMPLATE).prompts([call("a", prompt_ids=(5, 6, 7))])
    assert (found.ids, found.rendering, found.certainty) == ((5, 6, 7), Rendering.TOKEN_IDS, Certainty.EXACT)


def test_a_template_renders_the_whole_prompt_and_text_mode_does_not() -> None:
    prompt = chat("Be brief.", "Hello")
    tokenizer = ShippedTokenizer()
    (templated,) = renderer(TEMPLATE).prompts([call("a", prompt)])
    assert templated.ids == tokenizer.ids("<system>Be brief.<user>Hello<assistant>")
    assert templated.rendering is Rendering.TEMPLATE
    (plain,) = renderer(TEMPLATE, RenderMode.TEXT).prompts([call("a", prompt)])
    assert plain.ids == (*tokenizer.ids("\nsystem:\nBe brief."), *tokenizer.ids("\nuser:\nHello"))
    assert plain.rendering is Rendering.TEXT
    with pytest.raises(ReplayError, match="--render text"):
        renderer(None, RenderMode.TEMPLATE).prompts([call("a", prompt)])


def test_the_log_s_own_template_wins_and_a_hostile_one_is_an_error() -> None:
    prompt = chat("S", "U")
    own = EngineHint("local", 16, chat_template="{{ messages[0].content }}!")
    (found,) = renderer(TEMPLATE).prompts([call("a", prompt, engine=own)])
    assert found.ids == ShippedTokenizer().ids("S!")
    evil = EngineHint("local", 16, chat_template="{{ messages.__class__.__mro__[1].__subclasses__() }}")
    with pytest.raises(ReplayError, match=r"call a: .*use --render text"):
        renderer(TEMPLATE).prompts([call("a", prompt, engine=evil)])


def test_tools_are_written_out_for_a_template_that_knows_none() -> None:
    body = {"messages": [{"role": "user", "content": "U"}], "tools": [{"name": "t", "input_schema": {}}]}
    (found,) = renderer(TEMPLATE).prompts([call("a", Layout().prompt(body, Api.MESSAGES))])
    assert found.ids == ShippedTokenizer().ids('<system>{"name":"t","input_schema":{}}<user>U<assistant>')


def test_a_transcript_becomes_standins_of_the_logged_length() -> None:
    layout = Layout(keep_text=False)
    first = prompt_of((hidden(), *layout.blocks("x" * 400, "user", "[0].content")))
    second = first.extend(layout.blocks("y" * 80, "assistant", "[1].content"))
    calls = [
        call("a", first, evidence=Evidence.RECONSTRUCTED, usage=Usage(1000, 0, None, 5)),
        call("b", second, evidence=Evidence.RECONSTRUCTED, usage=Usage(100, 950, None, 5)),
    ]
    one, two = renderer(TEMPLATE).prompts(calls)
    assert (len(one.ids), len(two.ids)) == (1000, 1050)
    assert two.ids[:1000] == one.ids
    assert (one.rendering, one.certainty) == (Rendering.STAND_IN, Certainty.CALIBRATED)
    assert "hidden" in one.note


def test_the_plan_goes_by_time_and_says_what_it_leaves_out() -> None:
    calls = [
        call("late", minutes=2, prompt_ids=(1, 2, 3)),
        call("early", minutes=1, prompt_ids=(1, 2), generated_ids=(9, 9)),
        call("refused", minutes=3, status=429, prompt_ids=(1,)),
        call("empty", minutes=4),
    ]
    plan = list(ReplayPlan(calls, renderer(), VOCABULARY))
    assert [item.id for item in plan] == ["early", "late", "refused", "empty"]
    assert isinstance(plan[0], PlannedCall)
    assert (plan[0].at, plan[0].reply) == (0.0, (9, 9))
    assert [item.reason for item in plan if isinstance(item, UnreplayedCall)] == [
        "refused with status 429",
        "the log has no prompt",
    ]


TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=24).map(tuple)


@given(st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=8), st.sampled_from([1, 2, 4]))
def test_expected_reads_equal_the_oracle_and_the_pool(calls: list[tuple[tuple[int, ...], ...]], size: int) -> None:
    expected, oracle = ExpectedReads(size), Oracle(size)
    plan = [planned(str(i), prompt, reply=reply) for i, (prompt, reply) in enumerate(calls)]
    replay = SessionReplay(PlanEngine(2000, size, CacheIdentity("m")))
    for item, row in zip(plan, replay.run(plan, lambda call_id: None), strict=True):
        assert isinstance(row, CallMeasurement)
        want = oracle.run(item.prompt, item.reply[:-1])
        assert row.measured_cached_tokens == row.expected_cached_tokens == expected.next(item).cached_tokens == want
        assert sum(row.reasons.values()) == row.prompt_tokens - row.measured_cached_tokens


TIMES = st.lists(st.tuples(TOKENS, st.integers(0, 400), st.sampled_from(["a", "b"])), min_size=1, max_size=10)


@given(TIMES, st.integers(0, 12))
def test_lifetimes_partitions_and_minimums_expire_what_the_rule_says(
    calls: list[tuple[tuple[int, ...], int, str]], minimum: int
) -> None:
    now, plan = 0.0, []
    for number, (prompt, wait, partition) in enumerate(calls):
        now += wait
        plan.append(planned(str(number), prompt, now, partition=partition, minimum=minimum))
    replay = SessionReplay(PlanEngine(2000, 2, CacheIdentity("m")), lifetime=300.0)
    for row in replay.run(plan, lambda call_id: None):
        assert isinstance(row, CallMeasurement)
        assert row.measured_cached_tokens == row.expected_cached_tokens


def test_a_lifetime_by_hand() -> None:
    """Read at 0 s and at 200 s, so at 450 s it is 250 s old; at 800 s it is gone."""
    plan = [planned(str(at), (1, 2, 3, 4, 5), float(at), predecessor=str(before)) for before, at in
            ((None, 0), (0, 200), (200, 450), (450, 800))]  # fmt: skip
    replay = SessionReplay(PlanEngine(50, 2, CacheIdentity("m")), lifetime=300.0)
    rows = [row for row in replay.run(plan, lambda call_id: None) if isinstance(row, CallMeasurement)]
    assert [row.measured_cached_tokens for row in rows] == [0, 4, 4, 0]
    assert [row.recomputed_tokens for row in rows] == [0, 0, 0, 4]


def test_lifetimes_drop_only_what_is_old() -> None:
    engine = PlanEngine(20, 2, CacheIdentity("m"))
    engine.run_one(Request("1", (1, 2, 3, 4)))
    watch = Lifetimes(engine.cache, 10)
    contents = sorted(engine.cache.pool.contents())  # type: ignore[type-var]
    watch.touch(contents[:1], 0)
    watch.touch(contents[1:], 5)
    assert watch.expire(10) == 0
    assert watch.expire(11) == 1
    assert engine.cache.pool.contents() == set(contents[1:])


def test_policies() -> None:
    policy = parse_policy("anthropic-5m")
    assert (policy.name, policy.seconds) == ("anthropic-5m", 300)
    assert parse_policy("openai-1h").seconds == 3600
    assert policy.partition(call("a")) != policy.partition(call("b", model="claude-opus-4-5"))
    for name in ("anthropic", "-5m", "anthropic-5x", "anthropic-0m", "anthropic-m"):
        with pytest.raises(UsageError, match="anthropic-5m"):
            parse_policy(name)


COST = TtftModel(0.1, 2e-3, 1e-7)
POINTS = [(16, 0), (64, 0), (256, 128), (1024, 0), (1024, 960), (4096, 0), (4096, 2048), (4096, 4032)]


def test_the_fit_finds_the_law_that_made_the_samples() -> None:
    samples = [TtftSample(n, p, COST.predict(n, p)) for n, p in POINTS]
    found = fit(samples)
    assert found.constant == pytest.approx(0.1, rel=1e-6)
    assert found.per_token == pytest.approx(2e-3, rel=1e-6)
    assert found.per_pair == pytest.approx(1e-7, rel=1e-5)
    assert found.worst_relative_error(samples) < 1e-6
    assert found.predict(4096, 4032, load=0.5) - found.predict(4096, 4032) == pytest.approx(0.5)
    assert found.predict(1000, 500) / found.predict(1000, 0) > 0.5  # never proportional to the hit rate


@given(st.lists(st.floats(0.5, 2), min_size=len(POINTS), max_size=len(POINTS)))
def test_no_coefficient_is_negative(noise: list[float]) -> None:
    found = fit([TtftSample(n, p, COST.predict(n, p) * x) for (n, p), x in zip(POINTS, noise, strict=True)])
    assert min(found.constant, found.per_token, found.per_pair) >= 0


def test_too_few_samples() -> None:
    with pytest.raises(ValueError, match="three coefficients"):
        fit([TtftSample(1, 0, 1.0)])


def row(call_id: str = "a", ttft: float | None = 10.0, measured: int = 16) -> CallMeasurement:
    timing = None if ttft is None else CallTiming(1.0, 0.0, ttft - 2, 1.0, 0.0, 1)
    return CallMeasurement(
        call_id, "s", "main", 20, 3, 16, measured, measured, None, 16 - measured, {"partial_block": 4}, {"device": 16},
        4096, 0, 12, "text", Certainty.CALIBRATED, "", ttft, 9.0, None, None, timing,
    )  # fmt: skip


def measurement(*rows: CallMeasurement) -> Measurement:
    return Measurement(
        MEASUREMENT_VERSION, "hitledger", "tiny", "", "cpu, 2 threads", "tiny", "model", 16, 1, None, 1.0, rows, ()
    )


def test_runs_give_medians_and_spread_and_must_agree() -> None:
    (found,) = combined([[row(ttft=10.0)], [row(ttft=30.0)], [row(ttft=11.0)]])
    assert found.ttft_ms == 11.0
    assert found.timing == CallTiming(1.0, 0.0, 9.0, 1.0, 20.0, 3)
    with pytest.raises(CorruptPoolError, match="call a"):
        combined([[row()], [row(measured=0)]])


def test_json_round_trips_and_its_exact_part_has_no_machine_in_it() -> None:
    first, second = measurement(row(ttft=10.0)), replace(measurement(row(ttft=99.0)), device="cuda, H200")
    assert from_json(to_json(first), "m.json") == first
    assert to_json(first) != to_json(second)
    assert exact_json(first) == exact_json(second)
    assert json.loads(to_json(first))["calls"][0]["measured_cached_tokens"] == 16
    with pytest.raises(NothingToReadError, match=r"m\.json: not a measurement"):
        from_json(b'{"calls": 3}', "m.json")
    with pytest.raises(NothingToReadError, match="schema_version 9"):
        from_json(to_json(replace(first, schema_version=9)), "m.json")


def test_a_checkpoint_survives_a_cut_line_and_forgets_another_replay(tmp_path: Path) -> None:
    path = tmp_path / "c.partial"
    first = Checkpoint(path, "x")
    first.add(0, row("a"))
    first.add(0, row("b"))
    path.write_text(path.read_text()[:-40])
    second = Checkpoint(path, "x")
    assert (len(second), second.find(0, "a"), second.find(0, "b"), second.find(1, "a")) == (1, row("a"), None, None)
    second.add(0, row("b"))
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n{}\n[1]\n")
    Checkpoint(path, "x").add(0, row("c\u2028d"))
    assert len(Checkpoint(path, "x")) == 3
    assert len(Checkpoint(path, "y")) == 0
    assert fingerprint_of(("a", 1)) != fingerprint_of(("a", 2))


def test_demand_counts_blocks_and_the_longest_call() -> None:
    calls = [
        call("a", prompt_ids=tuple(range(40))),
        call("b", minutes=1, prompt_ids=(*range(40), *range(50, 70)), generated_ids=(1, 2, 3)),
    ]
    demand = survey(ReplayPlan(calls, renderer(), VOCABULARY), 16, None)
    assert (demand.longest_call, demand.longest_tokens, demand.num_calls) == ("b", 62, 2)
    assert demand.num_blocks == 1 + 3 + 2 + 1  # the null block, a's three, b's two more, one to spare
    assert demand.twin_blocks == 1 + 2 * 4 + 1
    require_context(demand, 62, "m")
    with pytest.raises(ReplayError, match=r"call b has 62 tokens, m holds 61.*--scale auto"):
        require_context(demand, 61, "m")
    assert scale_to_fit(demand, 31) == pytest.approx(0.475)
    assert scale_to_fit(demand, 1000) == 1.0
    assert affordable_blocks(1 << 20, torch.device("cpu")) == pytest.approx(
        0.8 * free_bytes(torch.device("cpu")) / 2**20, rel=0.2
    )
    with pytest.raises(ReplayError, match="no call can be replayed"):
        survey(ReplayPlan([call("x", status=500)], renderer(), VOCABULARY), 16, None)


@given(st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=8), st.sampled_from([1, 2, 4]))
def test_the_blocks_asked_for_are_enough(calls: list[tuple[tuple[int, ...], ...]], size: int) -> None:
    rows = [call(str(i), minutes=i, prompt_ids=prompt, generated_ids=reply) for i, (prompt, reply) in enumerate(calls)]
    plan = ReplayPlan(rows, renderer(), VOCABULARY)
    engine = PlanEngine(survey(plan, size, None).num_blocks, size, CacheIdentity("m"))
    found = [row for row in SessionReplay(engine).run(plan, lambda call_id: None) if isinstance(row, CallMeasurement)]
    assert engine.cache.stats.num_evictions == 0
    assert all(row.expected_cached_tokens == row.measured_cached_tokens for row in found)


def test_an_impossible_pool_is_refused_with_its_sizes() -> None:
    with pytest.raises(ReplayError, match=r"(?s)bytes a token.*46,080.*GiB.*--mode plan"):
        require_room(Demand(1 << 40, 8, "a", 10, 1), 16, 46_080, torch.device("cpu"))


def test_options_and_modes() -> None:
    assert choose_mode(None, None) == (Mode.TINY, "tiny")
    assert choose_mode(None, "smollm2") == (Mode.MODEL, "smollm2")
    assert choose_mode("model", None) == (Mode.MODEL, "smollm2")
    assert choose_mode("plan", None) == (Mode.PLAN, "tiny")
    assert (parse_scale("auto"), parse_scale("0.25")) == (None, 0.25)
    assert ReplayOptions().num_runs == 3
    assert ReplayOptions(mode=Mode.PLAN, runs=5).num_runs == 1
    for bad in (lambda: choose_mode("tiny", "x.gguf"), lambda: choose_mode("huge", None), lambda: parse_scale("half"),
                lambda: ReplayOptions(scale=2.0), lambda: ReplayOptions(block_size=0), lambda: ReplayOptions(runs=0)):  # fmt: skip
        with pytest.raises(UsageError):
            bad()


def test_events_have_vllm_s_shapes_and_no_tokens() -> None:
    out = StringIO()
    log = EventLog(out, 2)
    events: list[CacheEvent] = []

    def both(event: CacheEvent) -> None:
        events.append(event)
        log(event)

    engine = PlanEngine(4, 2, CacheIdentity("m"), both)
    engine.run_one(Request("1", (71, 72, 73, 74, 75)))
    engine.run_one(Request("2", (81, 82, 83, 84, 85)))
    engine.cache.clear()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["number"] for line in lines] == list(range(len(events)))
    kinds = {line["type"] for line in lines}
    assert kinds == {"BlockStored", "BlockRemoved", "AllBlocksCleared", "SequenceEvent"}
    stored = [line for line in lines if line["type"] == "BlockStored"]
    assert stored[1]["parent_block_hash"] == stored[0]["block_hashes"][0]
    assert (stored[0]["medium"], stored[0]["block_size"]) == ("GPU", 2)
    live: set[str] = set()
    for line in lines[:-1]:
        if line["type"] == "BlockStored":
            live |= set(line["block_hashes"])
        elif line["type"] == "BlockRemoved":
            live -= set(line["block_hashes"])
    assert len(live) == 2  # both blocks of the second request; the first one's were evicted
