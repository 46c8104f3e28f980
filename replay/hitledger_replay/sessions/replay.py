"""`hitledger replay LOGS`: calls -> plan -> engine -> measurement."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

import torch

from hitledger.measurement import MEASUREMENT_VERSION, CallMeasurement, Measurement, UnreplayedCall
from hitledger.stages import Progress
from hitledger.types import Call
from hitledger_replay.cache import OnEvent
from hitledger_replay.dtypes import KV_DTYPES
from hitledger_replay.engine.attention.choose import choose_backend, choose_device
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.probe import layer_shapes
from hitledger_replay.errors import ReplayError
from hitledger_replay.models.load import load_model
from hitledger_replay.models.loaded import LoadedModel
from hitledger_replay.sessions.calibrate import calibrate
from hitledger_replay.sessions.checkpoint import Checkpoint, fingerprint_of
from hitledger_replay.sessions.demand import require_context, scale_to_fit, survey
from hitledger_replay.sessions.eventlog import EventLog
from hitledger_replay.sessions.loop import SessionEngine, SessionReplay
from hitledger_replay.sessions.memory import Demand, affordable_blocks, memory_ledger, require_room
from hitledger_replay.sessions.options import Mode, ReplayOptions
from hitledger_replay.sessions.plan import ReplayPlan
from hitledger_replay.sessions.planengine import PlanEngine
from hitledger_replay.sessions.prometheus import prometheus_text
from hitledger_replay.sessions.render import PromptRenderer, Target
from hitledger_replay.sessions.runs import combined
from hitledger_replay.sessions.ttft import COEFFICIENTS, TtftModel, TtftSample, fit

ENGINE = "hitledger"
PLAN_NOTE = "no tensors: reuse is that of the block pool, times are predicted"
CALIBRATION_TOKENS = 1 << 15
CALIBRATION_BLOCK = 256
"""Larger blocks would only cost the calibration memory."""
ROUNDS = 9
"""Prompts that the calibration keeps at once, and one to spare."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """What all runs share."""

    options: ReplayOptions
    loaded: LoadedModel
    plan: ReplayPlan
    demand: Demand
    samples: tuple[TtftSample, ...]
    ttft: TtftModel | None


def replay_calls(calls: Sequence[Call], options: ReplayOptions, progress: Progress | None = None) -> Measurement:
    """Replay `calls`, whose ids are unique. What was finished is in the checkpoint, also after a ReplayError."""
    try:
        loaded = load_model(options.model, choose_device(options.device), allow_network=options.allow_network)
        setting = _prepared(calls, options, loaded)
    except KeyboardInterrupt as error:
        raise ReplayError(
            "stopped before the first call was replayed; what an earlier run kept is still kept"
        ) from error
    fingerprint = fingerprint_of((replace(options, checkpoint=None), setting.plan.scale, *calls))
    checkpoint = Checkpoint(options.checkpoint, fingerprint)
    try:
        return _run(setting, checkpoint, progress)
    except KeyboardInterrupt as error:
        kept = "run the same command again to go on" if options.checkpoint else "give --json FILE to keep what is done"
        in_all = options.num_runs * len(setting.plan)
        raise ReplayError(f"stopped after {len(checkpoint)} of {in_all} calls; {kept}") from error


def _prepared(calls: Sequence[Call], options: ReplayOptions, loaded: LoadedModel) -> _Setting:
    """Everything that can fail for want of room or context fails here, before anything is computed."""
    target = Target(loaded.tokenizer, loaded.vocabulary_size, loaded.chat_template, loaded.special_tokens)

    def planned(scale: float) -> tuple[ReplayPlan, Demand]:
        plan = ReplayPlan(calls, PromptRenderer(target, options.render), loaded.vocabulary_size, options.policy, scale)
        return plan, survey(plan, options.block_size, options.lifetime)

    plan, demand = planned(options.scale or 1.0)
    if options.scale is None and scale_to_fit(demand, loaded.max_tokens) < 1:
        plan, demand = planned(scale_to_fit(demand, loaded.max_tokens))
    token_bytes = _token_bytes(loaded, options.kv_dtype)
    if options.mode is not Mode.PLAN:
        require_context(demand, loaded.max_tokens, loaded.name)
        require_room(demand, options.block_size, token_bytes, loaded.model.device)
    samples = _calibration(loaded, options, demand)
    return _Setting(options, loaded, plan, demand, samples, fit(samples) if len(samples) >= COEFFICIENTS else None)


def _token_bytes(loaded: LoadedModel, kv_dtype: str) -> int:
    elements = sum(shape.elements for shape in layer_shapes(loaded.model))
    stored = KV_DTYPES.get(kv_dtype)
    return elements * (stored.element_bytes if stored else int(next(loaded.model.parameters()).element_size()))


def _calibration(loaded: LoadedModel, options: ReplayOptions, demand: Demand) -> tuple[TtftSample, ...]:
    longest = min(loaded.max_tokens, CALIBRATION_TOKENS, max(64, demand.longest_tokens))
    size = min(options.block_size, CALIBRATION_BLOCK)
    block_bytes = size * _token_bytes(loaded, options.kv_dtype)
    blocks = min(ROUNDS * (longest // size + 2), affordable_blocks(block_bytes, loaded.model.device))
    engine = _engine(loaded, replace(options, block_size=size), blocks, None)
    return calibrate(engine, loaded.vocabulary_size, longest)


def _engine(loaded: LoadedModel, options: ReplayOptions, num_blocks: int, on_event: OnEvent | None) -> Engine:
    return Engine(
        loaded.model,
        EngineOptions(num_blocks, options.block_size, options.kv_dtype),
        identity=loaded.identity,
        backend=choose_backend(loaded.model.device, options.attention),
        on_event=on_event,
    )


def _run(setting: _Setting, checkpoint: Checkpoint, progress: Progress | None) -> Measurement:
    options, runs = setting.options, []
    unreplayed: list[UnreplayedCall] = []
    with ExitStack() as stack:
        for number in range(options.num_runs):
            listener: OnEvent | None = None
            if options.events is not None and number == 0:
                listener = EventLog(stack.enter_context(options.events.open("w", encoding="utf-8")), options.block_size)
            replay = _session_replay(setting, listener)
            rows: list[CallMeasurement] = []
            for row in replay.run(setting.plan, partial(checkpoint.find, number)):
                if isinstance(row, CallMeasurement):
                    checkpoint.add(number, row)
                    rows.append(row)
                elif number == 0:
                    unreplayed.append(row)
                if progress:
                    progress(
                        number * len(setting.plan) + len(rows) + len(unreplayed), options.num_runs * len(setting.plan)
                    )
            runs.append(rows)
    calls = combined(runs)
    if options.metrics is not None:
        options.metrics.write_text(prometheus_text(replay.engine.cache, calls, setting.loaded.name), encoding="utf-8")
    return _measurement(setting, replay, calls, tuple(unreplayed))


def _session_replay(setting: _Setting, on_event: OnEvent | None) -> SessionReplay:
    options, loaded = setting.options, setting.loaded
    engine: SessionEngine
    if options.mode is Mode.PLAN:
        engine = PlanEngine(setting.demand.num_blocks, options.block_size, loaded.identity, on_event)
        return SessionReplay(engine, lifetime=options.lifetime, ttft=setting.ttft)
    engine = _engine(loaded, options, setting.demand.num_blocks, on_event)
    token_bytes = engine.store.block_bytes // options.block_size
    twin = _engine(loaded, options, setting.demand.twin_blocks, None)
    return SessionReplay(engine, lifetime=options.lifetime, token_bytes=token_bytes, ttft=setting.ttft, twin=twin)


def _measurement(
    setting: _Setting, replay: SessionReplay, calls: tuple[CallMeasurement, ...], unreplayed: tuple[UnreplayedCall, ...]
) -> Measurement:
    options, loaded, engine = setting.options, setting.loaded, replay.engine
    return Measurement(
        schema_version=MEASUREMENT_VERSION,
        engine=ENGINE,
        model=loaded.name,
        model_note=PLAN_NOTE if options.mode is Mode.PLAN else loaded.note,
        device=_device_words(loaded.model.device),
        mode=options.mode.value,
        kv_dtype=options.kv_dtype,
        block_size=options.block_size,
        concurrency=1,
        policy=options.policy.name if options.policy else None,
        scale=setting.plan.scale,
        calls=calls,
        unreplayed=unreplayed,
        ttft_model=setting.ttft.as_value(setting.samples) if setting.ttft else None,
        memory=memory_ledger(engine, replay.peak_tokens, replay.peak_slots) if isinstance(engine, Engine) else None,
    )


def _device_words(device: torch.device) -> str:
    if device.type == "cpu":
        return f"cpu, {torch.get_num_threads()} threads"
    return f"cuda, {torch.cuda.get_device_name(device)}" if device.type == "cuda" else device.type
