"""Decode out of tensors that stay in place: the tokens of the plain path, whatever is in the batch, recorded or not."""

import copy
import logging
from typing import Any

import pytest
import torch

from engine_models import ARCHITECTURES, random_model, random_tokens
from hitledger_replay.admission import PreemptMode
from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.engine.batch import Work, pack
from hitledger_replay.engine.decode import DecodeSteps, _PreparedStep
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request, RequestResult
from hitledger_replay.engine.sampling import Sampling
from hitledger_replay.sequence import Sequence

PROMPTS = [random_tokens(length, seed=length) for length in (5, 33, 70)]


def run(model: Any, requests: list[Request], **options: Any) -> dict[str, RequestResult]:
    paged = Engine(model, EngineOptions(60, poison=True, **options))
    results = {result.id: result for result in paged.run(requests)}
    assert paged.cache.pool.num_free_blocks == 59
    return results


def requests(count: int) -> list[Request]:
    return [Request(str(n), prompt, max_new_tokens=count) for n, prompt in enumerate(PROMPTS)]


def tokens(results: dict[str, RequestResult]) -> dict[str, tuple[tuple[int, ...], ...]]:
    return {name: result.outputs for name, result in results.items()}


@pytest.mark.parametrize("kind", [*ARCHITECTURES, "gpt2"])
def test_tokens_are_those_of_the_plain_path(kind: str) -> None:
    """Windows, soft caps, sinks and latents too; blocks are poisoned, so an unused slot that is read shows."""
    model = random_model(kind)
    plain, held = run(model, requests(14)), run(model, requests(14), decode_graphs=True)
    assert tokens(held) == tokens(plain)
    assert {result.num_plain_decodes for result in held.values()} == {0}


@pytest.mark.parametrize("kv_dtype", ["bf16", "fp8"])
def test_tokens_are_those_of_the_plain_path_in_other_dtypes(kv_dtype: str) -> None:
    model = random_model("llama")
    plain, held = (run(model, requests(14), kv_dtype=kv_dtype, decode_graphs=held) for held in (False, True))
    assert tokens(held) == tokens(plain)


@pytest.mark.parametrize("mode", list(PreemptMode))
def test_samples_forks_and_preemption_run_through_it(mode: PreemptMode) -> None:
    sampling = Sampling(temperature=1.0, seed=3)
    asked = [Request(str(n), prompt, "", 30, sampling, num_samples=2) for n, prompt in enumerate(PROMPTS)]
    roomy = run(random_model("llama"), asked)
    tight = Engine(
        random_model("llama"), EngineOptions(16, preempt_mode=mode, swap_blocks=30, poison=True, decode_graphs=True)
    )
    held = {result.id: result for result in tight.run(asked)}
    assert sum(result.num_preemptions for result in held.values()) > 0
    assert tokens(held) == tokens(roomy)


def prefilled(paged: Engine) -> list[Sequence]:
    sequences = []
    for number, prompt in enumerate(PROMPTS):
        found = Sequence(str(number), prompt, root=root_hash(CacheIdentity("m")), block_size=16)
        paged.cache.admit(found)
        paged.runner.forward(pack([Work(found, 0, len(prompt))], 16, paged.store.device))
        paged.cache.populate(found, len(prompt))
        paged.cache.append(found, 7 + number)
        sequences.append(found)
    return sequences


@pytest.mark.parametrize("kind", ["llama", "gemma2", "deepseek_v3"])
def test_logits_are_those_of_the_plain_step_and_one_slot_a_sequence_is_written(kind: str) -> None:
    paged = Engine(random_model(kind), EngineOptions(40))
    works = [Work(s, len(s) - 1, len(s)) for s in prefilled(paged)]
    steps = DecodeSteps(paged.runner, 4)
    before = paged.store.rows.clone()
    logits = steps.forward(works)
    assert logits is not None
    changed = {int(block) for block in (paged.store.rows != before).any(1).nonzero()}
    written = {work.sequence.block_table[-1] for work in works}
    assert changed <= written | {0}  # the padding row writes into the null block
    assert written <= changed
    torch.testing.assert_close(logits, paged.runner.forward(pack(works, 16, paged.store.device)), atol=1e-5, rtol=1e-5)


def test_a_longer_or_larger_batch_has_tensors_of_its_own_and_an_equal_one_the_same() -> None:
    paged = Engine(random_model("llama"), EngineOptions(40))
    works = [Work(s, len(s) - 1, len(s)) for s in prefilled(paged)]
    steps = DecodeSteps(paged.runner, 4)
    for batch in (works, works[:1], works[1:2], works[::-1], works[:2], works[1:]):
        assert steps.forward(batch) is not None
    # sequences x blocks of 6, 34 and 71 tokens, padded: 3 x 5, 1 x 1, 1 x 3, 3 x 5, 2 x 3, 2 x 5
    assert sorted(steps._steps) == [(1, 1), (1, 4), (2, 4), (2, 8), (4, 8)]
    assert steps.forward([*works, *works]) is None


def test_what_it_cannot_hold_is_run_plainly_and_counted() -> None:
    asked = [Request("r", PROMPTS[1], "", 6, Sampling(temperature=1.0, seed=1), num_samples=3)]
    plain = run(random_model("llama"), asked)
    held = run(random_model("llama"), asked, decode_graphs=True, max_sequences=2)
    assert tokens(held) == tokens(plain)
    assert held["r"].num_plain_decodes == 3 * 5
    assert plain["r"].num_plain_decodes == 0


class Recording:
    """Stands for a recorded graph: replaying runs the step on what its tensors hold then."""

    def __init__(self, step: _PreparedStep) -> None:
        self.step, self.replays = step, 0

    def replay(self) -> None:
        self.replays += 1
        self.step._logits = self.step.run()


def test_a_recorded_step_is_replayed_on_what_was_filled_in_since(monkeypatch: pytest.MonkeyPatch) -> None:
    recordings: list[Recording] = []

    def record(step: _PreparedStep, pool: object) -> None:
        step._graph = Recording(step)  # type: ignore[assignment]
        recordings.append(step._graph)  # type: ignore[arg-type]

    monkeypatch.setattr(_PreparedStep, "record", record)
    plain = run(random_model("llama"), requests(14))
    paged = Engine(random_model("llama"), EngineOptions(60, poison=True, decode_graphs=True))
    assert paged.decode_steps is not None
    monkeypatch.setattr(paged.decode_steps, "_records", True)
    assert tokens({result.id: result for result in paged.run(requests(14))}) == tokens(plain)
    assert sum(recording.replays for recording in recordings) == 13 - len(recordings)


def test_a_step_that_cannot_be_recorded_is_run_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def record(step: _PreparedStep, pool: object) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(_PreparedStep, "record", record)
    paged = Engine(random_model("llama"), EngineOptions(60, decode_graphs=True))
    assert paged.decode_steps is not None
    monkeypatch.setattr(paged.decode_steps, "_records", True)
    with caplog.at_level(logging.WARNING):
        held = {result.id: result for result in paged.run(requests(14))}
    assert tokens(held) == tokens(run(random_model("llama"), requests(14)))
    assert [record.message for record in caplog.records] == [
        (
            "this model's decode step cannot be recorded and is run without: "
            "operation not permitted when stream is capturing"
        )
    ]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma2", "deepseek_v3"])
@pytest.mark.parametrize("block_size", [16, 256])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_on_cuda_recorded_steps_give_the_plain_path_s_logits(kind: str, block_size: int, dtype: torch.dtype) -> None:
    """The first step of a size runs, the next ones are replayed with other tokens in other slots."""
    model = copy.deepcopy(random_model(kind)).to("cuda", dtype)
    paged = Engine(model, EngineOptions(40, block_size))
    sequences = []
    for number, prompt in enumerate(PROMPTS):
        found = Sequence(str(number), prompt, root=root_hash(CacheIdentity("m")), block_size=block_size)
        paged.cache.admit(found)
        paged.runner.forward(pack([Work(found, 0, len(prompt))], block_size, paged.store.device))
        paged.cache.populate(found, len(prompt))
        sequences.append(found)
    steps, tolerance = DecodeSteps(paged.runner, 4), 1e-3 if dtype is torch.float32 else 0.05
    for step in range(4):
        for found in sequences:
            paged.cache.append(found, 7 + step)
        works = [Work(found, len(found) - 1, len(found)) for found in sequences]
        held = steps.forward(works)
        assert held is not None
        held = held.clone()
        plain = paged.runner.forward(pack(works, block_size, paged.store.device))
        torch.testing.assert_close(held, plain, atol=tolerance * plain.abs().max().item(), rtol=0)
        for found in sequences:
            paged.cache.populate(found, 1)
    assert steps._records, "recording failed"
    assert any(step.recorded for step in steps._steps.values())
