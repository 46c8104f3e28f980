"""Continuous batching, preemption, copy-on-write, tiers and sampling: the tokens never depend on any of them."""

from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine_models import BASE, random_model, random_tokens
from hitledger.errors import UsageError
from hitledger_replay.admission import PreemptMode
from hitledger_replay.engine.attention.protocol import Rule
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.batch import PackedBatch
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.probe import refuse_unpageable
from hitledger_replay.engine.request import Request, RequestResult
from hitledger_replay.engine.sampling import Sampler, Sampling
from hitledger_replay.engine.selfcheck import require_same_logits
from hitledger_replay.errors import OutOfBlocksError, ReplayError, UnknownArchitectureError
from hitledger_replay.events import BlockStored, CacheEvent, SequenceEvent, Stage, cached_hashes
from hitledger_replay.misses import MissReason
from hitledger_replay.moves import Tier

PROMPTS = [random_tokens(60 + 7 * number, seed=number) for number in range(4)]


def engine(num_blocks: int = 200, **options: object) -> Engine:
    chosen = EngineOptions(num_blocks, keep_logits=True, poison=True, **options)  # type: ignore[arg-type]
    return Engine(random_model("llama"), chosen)


def by_id(paged: Engine, requests: list[Request]) -> dict[str, RequestResult]:
    return {result.id: result for result in paged.run(requests)}


def requests(count: int) -> list[Request]:
    return [Request(str(number), prompt, max_new_tokens=count) for number, prompt in enumerate(PROMPTS)]


@pytest.mark.parametrize("mode", list(PreemptMode))
def test_preempted_sequences_say_the_same_and_their_recomputation_is_no_hit(mode: PreemptMode) -> None:
    roomy = by_id(engine(), requests(40))
    tight_engine = engine(22, swap_blocks=40, preempt_mode=mode)
    tight = by_id(tight_engine, requests(40))
    assert sum(result.num_preemptions for result in tight.values()) > 0
    assert {i: r.outputs for i, r in tight.items()} == {i: r.outputs for i, r in roomy.items()}
    assert [result.num_cached_tokens for result in tight.values()] == [0, 0, 0, 0]
    assert tight_engine.cache.stats.hits == 0
    assert tight_engine.cache.stats.queries == sum(map(len, PROMPTS))
    moved = tight_engine.transfers.totals.bytes
    assert (moved.get("SwapOut", 0) > 0) == (mode is PreemptMode.SWAP)
    assert tight_engine.cache.pool.num_free_blocks == 21
    assert tight_engine.transfers.host_bytes == 0


def test_a_sequence_that_cannot_fit_is_refused_and_leaks_nothing() -> None:
    paged = engine(4)
    with pytest.raises(OutOfBlocksError):
        list(paged.run([Request("r", PROMPTS[0])]))
    assert paged.cache.pool.num_free_blocks == 3
    assert paged.run_one(Request("small", PROMPTS[0][:20])).outputs  # nothing is left in its way
    with pytest.raises(ReplayError, match="empty prompt"):
        paged.submit(Request("e", ()))


@pytest.mark.parametrize("mode", list(PreemptMode))
def test_who_stops_listening_cancels_what_is_left(mode: PreemptMode) -> None:
    """Running, waiting, preempted and swapped out sequences alike."""
    paged = engine(16, swap_blocks=40, preempt_mode=mode, token_budget=100, max_sequences=3)
    asked = [Request(str(n), p, max_new_tokens=2 if n == 0 else 60) for n, p in enumerate(PROMPTS)]
    results = paged.run(asked)
    assert next(results).id == "0"
    while not paged.cache.stats.num_preemptions:
        paged.step()
    assert paged.scheduler.running
    assert paged.scheduler.waiting
    results.close()  # type: ignore[attr-defined]
    assert not paged.scheduler.running
    assert not paged.scheduler.waiting
    assert paged.cache.pool.num_free_blocks == 15
    alone = paged.run_one(Request("after", PROMPTS[1], max_new_tokens=3))
    assert paged.transfers.host_bytes == 0
    assert alone.outputs == engine().run_one(Request("after", PROMPTS[1], max_new_tokens=3)).outputs


@pytest.mark.parametrize("length", [32, 33, 40, 47])
def test_parallel_samples_share_the_prompt_and_copy_one_block(length: int) -> None:
    sampling = Sampling(temperature=1.0, seed=5)
    paged = engine()
    prompt = PROMPTS[0][:length]
    result = paged.run_one(Request("r", prompt, max_new_tokens=6, sampling=sampling, num_samples=3))
    assert len(set(result.outputs)) > 1
    assert result.num_copies == (2 if length % 16 else 0)  # the last of three users writes in place
    alone = engine().run_one(Request("r", prompt, max_new_tokens=6, sampling=sampling))
    assert alone.outputs[0] == result.outputs[0]
    assert paged.cache.pool.num_free_blocks == 199


def test_one_session_is_serialised_and_others_run_beside_it() -> None:
    first, second = PROMPTS[0], (*PROMPTS[0], *PROMPTS[1])
    paged = engine()
    done = by_id(paged, [Request("1", first, "s"), Request("2", second, "s"), Request("3", first, "t")])
    assert done["2"].num_cached_tokens == 48  # 60 tokens: three full blocks, computed before it started
    assert done["3"].num_cached_tokens == 0  # scheduled in the same step as the first: computed twice
    together = by_id(engine(), [Request("1", first), Request("2", second)])
    assert together["2"].num_cached_tokens == 0
    assert together["2"].misses[MissReason.IN_FLIGHT] == 48


def test_sequential_requests_count_reasons_that_sum_to_the_prompt() -> None:
    paged = engine()
    paged.run_one(Request("1", PROMPTS[0]))
    result = paged.run_one(Request("2", (*PROMPTS[0], *PROMPTS[1])))
    assert result.num_cached_tokens == 48
    assert result.misses == {MissReason.NEVER_SEEN: 64, MissReason.PARTIAL_BLOCK: 15}
    again = paged.run_one(Request("3", PROMPTS[0][:48]))
    assert (again.num_cached_tokens, again.misses) == (32, {MissReason.LAST_TOKEN_CAP: 16})


@pytest.mark.parametrize(("host", "disk"), [(50, 0), (0, 50), (3, 50)])
def test_blocks_come_back_from_lower_tiers_with_their_bytes(host: int, disk: int, tmp_path: Path) -> None:
    wanted = engine().run_one(Request("w", PROMPTS[3], split_at=(80,)))
    paged = engine(8, host_blocks=host, disk_blocks=disk, disk=tmp_path)
    paged.run_one(Request("1", PROMPTS[3][:80]))
    paged.run_one(Request("2", random_tokens(110, seed=77)))
    back = paged.run_one(Request("3", PROMPTS[3]))
    assert back.num_cached_tokens == 80
    assert sum(tokens for tier, tokens in back.cached_by_tier.items() if tier is not Tier.DEVICE) > 0
    assert back.first_logits is not None
    assert wanted.first_logits is not None
    assert torch.equal(back.first_logits, wanted.first_logits)
    assert paged.transfers.totals.bytes["LoadBlock"] % paged.store.block_bytes == 0
    assert back.first_token.load > 0


def test_events_rebuild_the_set_of_cached_blocks_and_grammar_holds() -> None:
    events: list[CacheEvent] = []
    paged = Engine(random_model("llama"), EngineOptions(12), on_event=events.append)
    for number, prompt in enumerate(PROMPTS):
        paged.run_one(Request(str(number), prompt, max_new_tokens=3))
    assert cached_hashes(events) == paged.cache.pool.contents()
    stored = [event for event in events if isinstance(event, BlockStored)]
    assert len(stored) == sum((len(prompt) + 2) // 16 for prompt in PROMPTS)
    for number in range(len(PROMPTS)):
        own = [e.stage for e in events if isinstance(e, SequenceEvent) and e.seq_id == str(number)]
        life = [stage for stage in own if stage not in (Stage.EVICT, Stage.OFFLOAD)]
        assert life[0] is Stage.LOOKUP
        assert life[-1] is Stage.FREE
        assert life.count(Stage.APPEND) == 2


def test_generated_tokens_stop_and_seeds_repeat() -> None:
    greedy = engine().run_one(Request("r", PROMPTS[0], max_new_tokens=8))
    stop = greedy.outputs[0][3]
    stopped = engine().run_one(Request("r", PROMPTS[0], max_new_tokens=8, stop_ids=frozenset([stop])))
    assert stopped.outputs[0] == greedy.outputs[0][: greedy.outputs[0].index(stop) + 1]
    logits = torch.tensor([0.0, 2.0, 1.0, -3.0])
    hot = Sampling(temperature=1.0, top_k=2, seed=3)
    draws = [Sampler(hot).sample(logits) for _ in range(3)]
    assert len(set(draws)) == 1
    sampler = Sampler(hot)
    many = [sampler.sample(logits) for _ in range(400)]
    assert set(many) == {1, 2}
    assert 240 <= many.count(1) <= 340  # e / (e + 1) = 0.731: 292 expected
    assert Sampler(Sampling(temperature=1.0, top_p=0.5)).sample(logits) == 1
    assert Sampler(Sampling()).sample(logits) == 1
    with pytest.raises(UsageError):
        Sampling(top_p=0)


@pytest.mark.parametrize(("kv_dtype", "tolerance"), [("fp32", 0.0), ("bf16", 0.05), ("fp8", 0.5)])
def test_stored_precision(kv_dtype: str, tolerance: float) -> None:
    wanted = engine().run_one(Request("r", PROMPTS[0])).first_logits
    paged = engine(kv_dtype=kv_dtype)
    result = paged.run_one(Request("r", PROMPTS[0])).first_logits
    assert wanted is not None
    assert result is not None
    error = (result - wanted).abs().max().item()
    assert error <= tolerance
    assert (error > 0) == (kv_dtype != "fp32")
    elements = 2 * 16 * 2 * 2 * 16  # layers, tokens, keys and values, heads, dim
    assert paged.store.block_bytes == elements * {"fp32": 4, "bf16": 2, "fp8": 1}[kv_dtype]
    assert paged.store.codec.num_scale_bytes == (16 if kv_dtype == "fp8" else 0)


def test_the_two_parts_of_a_latent_share_a_scale() -> None:
    model, prompt = random_model("deepseek_v3"), PROMPTS[0]
    wanted = Engine(model, EngineOptions(8, keep_logits=True)).run_one(Request("r", prompt)).first_logits
    paged = Engine(model, EngineOptions(8, kv_dtype="fp8", keep_logits=True))
    result = paged.run_one(Request("r", prompt)).first_logits
    assert wanted is not None
    assert result is not None
    assert 0 < (result - wanted).abs().max().item() < 0.5
    codec = paged.store.codec
    assert codec.num_scale_bytes == 4 * len(paged.store.layers)
    value = torch.tensor([1.0])
    assert torch.equal(codec.encode(1, 0, value), codec.encode(1, 1, value))
    assert torch.equal(codec.decode(1, 1, codec.encode(1, 0, value)), codec.decode(1, 0, codec.encode(1, 1, value)))


def test_a_salt_keeps_tenants_apart() -> None:
    paged = engine()
    paged.run_one(Request("1", PROMPTS[0], salt="a"))
    assert paged.run_one(Request("2", PROMPTS[0], salt="b")).num_cached_tokens == 0
    assert paged.run_one(Request("3", PROMPTS[0], salt="a")).num_cached_tokens == 48


class Zeros(ReferenceAttention):
    """A back end that is wrong."""

    def attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, batch: PackedBatch, rule: Rule
    ) -> torch.Tensor:
        return torch.zeros_like(super().attend(query, key, value, batch, rule))


def test_a_model_is_checked_against_its_own_answer() -> None:
    model = random_model("gemma2")
    model.set_attn_implementation("eager")
    require_same_logits(model)
    model.set_attn_implementation("eager")
    with pytest.raises(UnknownArchitectureError, match=r"gemma2: .*off by"):
        require_same_logits(model, Zeros())


@pytest.mark.parametrize("kind", ["bloom", "falcon"])
def test_models_without_exchangeable_attention_are_refused(kind: str) -> None:
    shape = {
        "vocab_size": 64,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "n_layer": 1,
        "n_head": 2,
    }
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **shape)).eval()
    with pytest.raises(UnknownArchitectureError, match="no exchangeable attention"):
        Engine(model, EngineOptions(4))


def test_recurrent_models_are_refused() -> None:
    config = AutoConfig.for_model(
        "mamba", vocab_size=64, hidden_size=16, num_hidden_layers=1, state_size=4, pad_token_id=0
    )
    with pytest.raises(UnknownArchitectureError, match="mamba"):
        Engine(AutoModelForCausalLM.from_config(config).eval(), EngineOptions(4))


@pytest.mark.parametrize("kind", ["chunked_attention", "linear_attention"])
def test_layers_that_keep_no_entry_a_token_or_hide_their_mask_are_refused(kind: str) -> None:
    config = AutoConfig.for_model("qwen2", num_hidden_layers=2, layer_types=["full_attention", "full_attention"])
    refuse_unpageable(config)
    config.layer_types = ["full_attention", kind]
    with pytest.raises(UnknownArchitectureError, match=f"{kind}: .*cannot be paged"):
        refuse_unpageable(config)


def test_a_layer_without_a_cache_of_its_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of models whose last layers read the keys of earlier ones: the recorder sees fewer layers than there are."""
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **BASE)).eval()
    monkeypatch.setattr(model.config, "num_hidden_layers", 3)
    with pytest.raises(UnknownArchitectureError, match="2 of 3 layers"):
        Engine(model, EngineOptions(4))
