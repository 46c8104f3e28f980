"""A prefix hit changes nothing: bitwise against a cold run cut at the same place, and the tokens transformers gives."""

import copy

import pytest
import torch

from engine_models import ARCHITECTURES, generated, plain_logits, random_model, random_tokens
from hitledger_replay.engine.attention.reference import ReferenceAttention
from hitledger_replay.engine.attention.tiled import TILE, TiledAttention
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request, RequestResult

PROMPT = random_tokens(131)


def engine(dtype: torch.dtype = torch.float32, block_size: int = 16, token_budget: int = 2048) -> Engine:
    options = EngineOptions(300, block_size, token_budget=token_budget, keep_logits=True, poison=True)
    return Engine(random_model("llama", dtype), options)


def logits_of(result: RequestResult) -> torch.Tensor:
    assert result.first_logits is not None
    return result.first_logits


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("block_size", [1, 16, 64])
def test_hit_is_bitwise_equal_to_a_cold_run_cut_at_the_same_place(block_size: int, dtype: torch.dtype) -> None:
    length = 33 if block_size == 1 else len(PROMPT)
    prompt = PROMPT[:length]
    whole = logits_of(engine(dtype=dtype, block_size=block_size).run_one(Request("whole", prompt)))
    for hit in range(block_size, length, block_size):
        warm = engine(dtype=dtype, block_size=block_size)
        warm.run_one(Request("first", prompt[:hit]))
        result = warm.run_one(Request("second", prompt))
        cold = engine(dtype=dtype, block_size=block_size).run_one(Request("cold", prompt, split_at=(hit,)))
        assert (result.num_cached_tokens, cold.num_cached_tokens) == (hit, 0)
        assert torch.equal(logits_of(result), logits_of(cold)), hit
        assert result.outputs == cold.outputs
        if dtype is torch.float32:
            torch.testing.assert_close(logits_of(result), whole, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma2", "gpt2"])
@pytest.mark.parametrize("hit", [TILE - 16, TILE, TILE + 16, 2 * TILE, 2 * TILE + 16])
def test_so_it_is_where_prefix_and_rest_are_longer_than_a_tile(kind: str, hit: int) -> None:
    """What is merged of a tile's own keys and those in front of it does not depend on where these come from."""
    prompt, options = random_tokens(2 * TILE + 40), EngineOptions(80, 16, keep_logits=True, poison=True)
    warm = Engine(random_model(kind), options)
    warm.run_one(Request("first", prompt[:hit]))
    result = warm.run_one(Request("second", prompt))
    cold = Engine(random_model(kind), options).run_one(Request("cold", prompt, split_at=(hit,)))
    assert (result.num_cached_tokens, cold.num_cached_tokens) == (hit, 0)
    assert torch.equal(logits_of(result), logits_of(cold))


@pytest.mark.parametrize("kind", [*ARCHITECTURES, "gpt2"])
@pytest.mark.parametrize("backend", [ReferenceAttention(), TiledAttention(16)], ids=["reference", "tiled"])
def test_greedy_tokens_equal_transformers_generate(kind: str, backend: ReferenceAttention) -> None:
    prompt, count = PROMPT[:70], 12
    paged = Engine(
        random_model(kind), EngineOptions(64, token_budget=32, keep_logits=True, poison=True), backend=backend
    )
    cold = paged.run_one(Request("cold", prompt, max_new_tokens=count))
    hit = paged.run_one(Request("hit", prompt, max_new_tokens=count))
    assert (cold.num_cached_tokens, hit.num_cached_tokens) == (0, 64)
    torch.testing.assert_close(logits_of(cold), plain_logits(kind, prompt), atol=1e-4, rtol=0)
    assert cold.outputs == hit.outputs == (generated(kind, prompt, count),)


def test_packed_and_chunked_sequences_do_not_see_each_other() -> None:
    prompts = [random_tokens(length, seed) for seed, length in enumerate((5, 48, 49, 90, 17))]
    together = engine(token_budget=37)
    results = {r.id: r for r in together.run(Request(str(i), p, max_new_tokens=6) for i, p in enumerate(prompts))}
    for index, prompt in enumerate(prompts):
        assert results[str(index)].outputs == (generated("llama", prompt, 6),)
        torch.testing.assert_close(logits_of(results[str(index)]), plain_logits("llama", prompt), atol=1e-4, rtol=0)
    assert together.cache.pool.num_free_blocks == together.options.num_blocks - 1


def test_a_reply_is_reused_by_the_next_turn() -> None:
    paged = engine()
    first = paged.run_one(Request("1", PROMPT[:40], max_new_tokens=30))
    second = paged.run_one(Request("2", (*PROMPT[:40], *first.outputs[0], *PROMPT[40:50])))
    assert second.num_cached_tokens == 64  # 40 + 29 computed tokens of the reply: four full blocks
    forced = engine()
    forced.run_one(Request("1", PROMPT[:40], forced_output=first.outputs[0]))
    assert forced.run_one(Request("2", (*PROMPT[:40], *first.outputs[0], *PROMPT[40:50]))).num_cached_tokens == 64


def test_a_corrupted_block_shows() -> None:
    clean, dirty = engine(), engine()
    for paged in (clean, dirty):
        paged.run_one(Request("1", PROMPT[:64]))
    dirty.store.rows[2] += 1e-3
    assert not torch.equal(
        logits_of(clean.run_one(Request("2", PROMPT))), logits_of(dirty.run_one(Request("2", PROMPT)))
    )


def test_reuse_that_is_no_prefix_shows() -> None:
    """Tokens 16 on of one prompt behind another first block: equal tokens at equal places, other keys and values."""
    donor, other = engine(), (*random_tokens(16, seed=9), *PROMPT[16:])
    donor.run_one(Request("1", PROMPT))
    honest = engine().run_one(Request("2", other))
    thief = engine()
    thief.run_one(Request("1", other[:112]))
    thief.store.rows[2:8] = donor.store.rows[2:8]
    stolen = thief.run_one(Request("2", other))
    assert (honest.num_cached_tokens, stolen.num_cached_tokens) == (0, 112)
    assert (logits_of(stolen) - logits_of(honest)).abs().max() > 1e-2


def test_a_stale_read_is_poison() -> None:
    paged = engine()
    paged.run_one(Request("1", PROMPT[:64]))
    paged.store.poison([3])
    assert torch.isnan(logits_of(paged.run_one(Request("2", PROMPT)))).any()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma2", "deepseek_v3", "gpt_oss"])
@pytest.mark.parametrize("block_size", [16, 256])
def test_on_cuda_the_flash_kernel_gives_the_reference_s_answer(kind: str, block_size: int) -> None:
    """bf16; the hit, a cold run cut at the same place, and the reference back end. Repeats are bitwise equal."""
    model = copy.deepcopy(random_model(kind)).to("cuda", torch.bfloat16)
    prompt, hit = random_tokens(600, seed=3), 512
    options = EngineOptions(100, block_size, keep_logits=True, poison=True)
    warm = Engine(model, options)
    warm.run_one(Request("first", prompt[:hit]))
    result = warm.run_one(Request("second", prompt))
    cold = Engine(model, options).run_one(Request("cold", prompt, split_at=(hit,)))
    reference = Engine(model, options, backend=ReferenceAttention()).run_one(Request("r", prompt, split_at=(hit,)))
    assert result.num_cached_tokens == hit
    assert torch.equal(logits_of(result), logits_of(cold))
    scale = logits_of(reference).abs().max().item()
    torch.testing.assert_close(logits_of(result), logits_of(reference), atol=0.05 * scale, rtol=0)
