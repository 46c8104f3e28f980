"""KV sizes: every number the source documents state, and 37 models against an independent calculator."""

import json
from pathlib import Path

import pytest

from hitledger.errors import UsageError
from hitledger_replay.claims import check_claim
from hitledger_replay.dtypes import KV_DTYPES, kv_dtype
from hitledger_replay.errors import ReplayError, UnknownArchitectureError
from hitledger_replay.modelconfig import known_models, read_spec, spec_from_config
from hitledger_replay.spec import LayerKind

BF16, FP8, INT8 = (KV_DTYPES[name] for name in ("bf16", "fp8", "int8"))
GIB, GB = 2**30, 10**9

# Bytes per token in 16 bits, windows not full: kvcache-simulator 0.1.3 for the same models (its own code and formulas).
PEER = {
    "llama-3.1-8b": 131072, "llama-3.1-70b": 327680, "llama-3.3-70b": 327680,
    "qwen3-235b-a22b": 192512, "qwen3-30b-a3b": 98304, "qwen3-32b": 262144, "qwen3-14b": 163840, "qwen3-8b": 147456,
    "qwen3-4b": 147456, "qwen3-1.7b": 114688, "qwen3-0.6b": 114688,
    "qwen2.5-72b": 327680, "qwen2.5-32b": 262144, "qwen2.5-14b": 196608, "qwen2.5-7b": 57344, "qwen2.5-coder-32b": 262144,
    "cohere-command-r-v01": 1310720, "cohere-command-r-plus": 262144,
    "cohere-command-r7b-12-2024": 131072, "cohere-command-a-03-2025": 262144,
    "deepseek-v3": 70272, "deepseek-r1": 70272, "kimi-k2.5": 70272, "kimi-k2.6": 70272,
    "deepseek-v3.2": 85888, "glm-5": 109824,
    "qwen3.8-2.4t-a95b": 94208, "qwen3.8-27b": 65536, "qwen3.6-27b": 65536, "qwen3.6-35b-a3b": 20480,
    "qwen3.5-397b-a17b": 30720, "qwen3.5-122b-a10b": 24576, "qwen3.5-35b-a3b": 20480, "qwen3.5-27b": 65536,
    "qwen3.5-9b": 32768, "qwen3.5-4b": 32768, "qwen3.5-2b": 12288, "qwen3.5-0.8b": 12288,
}  # fmt: skip

# Parameters as the models' cards and checkpoints state them.
PARAMETERS = {
    "llama-2-7b": 6_738_415_616, "llama-2-13b": 13_015_864_320, "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248, "llama-3-70b": 70_553_706_496, "mistral-7b-v0.1": 7_241_732_096,
    "qwen2.5-7b": 7_615_616_512, "qwen3-8b": 8_190_735_360, "smollm2-135m": 134_515_008,
}  # fmt: skip


@pytest.mark.parametrize("model", PEER)
def test_bytes_per_token_equal_the_peer(model: str) -> None:
    assert read_spec(model).bytes_per_token(BF16) == PEER[model]


@pytest.mark.parametrize("model", PARAMETERS)
def test_weights_follow_from_the_configuration(model: str) -> None:
    assert read_spec(model).weight_bytes == 2 * PARAMETERS[model]


def test_a_token_of_32_layers_8_heads_128_dims_is_128_kib() -> None:
    """Document A lines 44-48: 128 KiB a token, 1 GiB for 8K tokens, 32 GiB for 32 such requests."""
    spec = read_spec("llama-3.1-8b")
    assert spec.bytes_per_token(BF16) == 128 * 1024
    assert spec.payload_bytes(8192, BF16) == GIB
    assert 32 * spec.payload_bytes(8192, BF16) == 32 * GIB


def test_llama_2_7b() -> None:
    """Document B line 6: half a MiB a token, 2 GiB at 4096 tokens, 8 GiB for a batch of 4."""
    spec = read_spec("llama-2-7b")
    assert spec.bytes_per_token(BF16) == 524_288
    assert spec.payload_bytes(4096, BF16) == 2 * GIB
    assert 4 * spec.payload_bytes(4096, BF16) == 8 * GIB


def test_opt_13b() -> None:
    """Document B line 6: about 800 KB a token (819,200 bytes), 1.6 GB at its maximum of 2048 tokens."""
    spec = read_spec("opt-13b")
    assert spec.bytes_per_token(BF16) == 819_200
    assert spec.payload_bytes(2048, BF16) == 1_677_721_600
    assert check_claim("800 KB", spec.bytes_per_token(BF16)).holds
    assert check_claim("1.6 GB", spec.payload_bytes(2048, BF16)).holds


def test_concurrency_of_a_40_gb_card() -> None:
    """Document B line 10: 26 GB of weights are 65 % of 40 GB; 12 GB of cache hold 7 requests of 1.678 GB."""
    assert 26 / 40 == 0.65
    assert round(12 * GB / read_spec("opt-13b").payload_bytes(2048, BF16), 2) == 7.15


def test_70b_at_128k() -> None:
    """Document B line 8: about 40 GB (40.0 GiB) beside weights of about 140 GB."""
    spec = read_spec("llama-3-70b")
    assert spec.payload_bytes(131072, BF16) == 40 * GIB
    assert check_claim("40 GB", spec.payload_bytes(131072, BF16)).holds
    assert spec.weight_bytes is not None
    assert check_claim("140 GB", spec.weight_bytes).holds


def test_gqa_ratio() -> None:
    """Document B line 9: 64 query heads on 8 KV heads are an eighth of multi-head attention."""
    config = known_models()["llama-2-70b"]
    mha = spec_from_config({**config, "num_key_value_heads": 64}, "mha")
    assert mha.bytes_per_token(BF16) == 8 * read_spec("llama-2-70b").bytes_per_token(BF16)


def test_wrong_claim_70b_at_4096_is_not_2_5_gb() -> None:
    """Document B line 9 says 2.5 GB; it is 1.25 GiB."""
    size = read_spec("llama-2-70b").payload_bytes(4096, BF16)
    assert size == 1.25 * GIB == 1_342_177_280
    check = check_claim("2.5 GB", size)
    assert not check.holds
    assert check.describe() == "claim 2.5 GB: computed 1.25 GiB (1.34 GB); the claim is off by 1.86x"


def test_a_small_claim_is_answered_in_bytes() -> None:
    assert check_claim("130 KB", 131_072).describe() == "claim 130 KB: computed 131,072 bytes; the claim holds"


def test_wrong_claim_27k_tokens_of_13b_are_not_13_gb() -> None:
    """Document B line 8: 27K tokens of Llama-2-13B are 22.1 GB; 14.2 GB, about its weights, holds for the 7B."""
    size = read_spec("llama-2-13b").payload_bytes(27_000, BF16)
    assert round(size / GB, 1) == 22.1
    assert not check_claim("13 GB", size).holds
    seven = read_spec("llama-2-7b")
    assert round(seven.payload_bytes(27_000, BF16) / GB, 1) == 14.2
    assert seven.weight_bytes is not None
    assert round(seven.weight_bytes / GB, 1) == 13.5


def test_system_prompt_shared_by_100_users() -> None:
    """Document B line 20: 2000 tokens are 1 GB (1.049); 100 users take 104.9 GB apart and 1.049 together."""
    size = read_spec("llama-2-7b").payload_bytes(2000, BF16)
    assert (round(size / GB, 3), round(100 * size / GB, 1)) == (1.049, 104.9)


@pytest.mark.parametrize(
    ("ranks", "kib", "all_kib"), [(1, 128, 128), (2, 64, 128), (4, 32, 128), (8, 16, 128), (16, 16, 256), (32, 16, 512)]
)
def test_tensor_parallel_table(ranks: int, kib: int, all_kib: int) -> None:
    """8 KV heads: beyond 8 ranks heads are copied, so all ranks together hold more than one cache."""
    each = read_spec("llama-3.1-8b").rank(ranks).bytes_per_token(BF16)
    assert (each, ranks * each) == (kib * 1024, all_kib * 1024)


def test_mla_is_whole_on_every_rank() -> None:
    spec = read_spec("deepseek-v3")
    assert spec.rank(8).bytes_per_token(BF16) == spec.bytes_per_token(BF16) == 70_272


def test_mla_savings_depend_on_the_baseline() -> None:
    """512 + 64 elements a layer: 98.2 % below 128 heads of 128, 82.2 % below DeepSeek-67B, 93.3 % only in 6 bits."""
    assert read_spec("deepseek-v3").groups[0].elements_per_token == 576
    assert round(1 - 576 / (2 * 128 * 128), 3) == 0.982
    ratio = read_spec("deepseek-v2").bytes_per_token(BF16) / read_spec("deepseek-67b").bytes_per_token(BF16)
    assert (round(1 - ratio, 3), round(1 - ratio * 6 / 16, 3)) == (0.822, 0.933)


def test_sliding_window_is_a_cap() -> None:
    """Mistral-7B: 4096 * 128 KiB = 512 MiB, however long the sequence."""
    spec = read_spec("mistral-7b-v0.1")
    assert [spec.payload_bytes(n, BF16) // 2**20 for n in (2048, 4096, 8192, 131072)] == [256, 512, 512, 512]
    assert (spec.bytes_per_token(BF16), spec.growth_bytes_per_token(BF16)) == (131_072, 0)


def test_hybrid_layers_keep_windows_and_full_apart() -> None:
    spec = read_spec("cohere-command-r7b-12-2024")  # 8 full, 24 sliding of 32; 4096 bytes a token and layer
    assert spec.payload_bytes(10_000, BF16) == 4096 * (8 * 10_000 + 24 * 4096)


def test_recurrent_state_does_not_grow() -> None:
    """Qwen3.5-9B: 24 layers of 32 value heads of 128 x 128 in float32, and 3 past inputs of 8192 channels in 16 bits."""
    spec = read_spec("qwen3.5-9b")
    assert spec.state_bytes() == 24 * (32 * 128 * 128 * 4 + 3 * 8192 * 2)
    assert spec.sequence_bytes(2000, BF16) - spec.sequence_bytes(1000, BF16) == 1000 * 32_768
    mamba = spec_from_config(
        {
            "model_type": "mamba",
            "num_hidden_layers": 2,
            "hidden_size": 8,
            "expand": 2,
            "state_size": 4,
            "conv_kernel": 4,
        },
        "mamba",
    )
    assert (mamba.payload_bytes(10**6, BF16), mamba.state_bytes()) == (0, 2 * (16 * 4 * 4 + 3 * 16 * 2))


def test_fp8_halves_and_adds_two_scales_a_layer() -> None:
    spec = read_spec("llama-3.1-8b")
    assert 2 * spec.payload_bytes(100, FP8) == spec.payload_bytes(100, BF16)
    assert (spec.fixed_scale_bytes(FP8), spec.scale_bytes(100, FP8)) == (2 * 32 * 4, 0)
    assert (spec.fixed_scale_bytes(INT8), spec.scale_bytes(100, INT8)) == (0, 100 * 32 * 8 * 2 * 4)


def test_query_heads_do_not_matter_and_missing_kv_heads_mean_as_many() -> None:
    config = {"model_type": "llama", "num_hidden_layers": 2, "head_dim": 8, "hidden_size": 64}
    with_kv = [spec_from_config({**config, "num_attention_heads": q, "num_key_value_heads": 2}, "x") for q in (2, 4, 8)]
    assert {spec.bytes_per_token(BF16) for spec in with_kv} == {2 * 2 * 2 * 8 * 2}
    assert spec_from_config({**config, "num_attention_heads": 8}, "x").bytes_per_token(BF16) == 2 * 2 * 8 * 8 * 2


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"model_type": "new_arch"}, "unknown model_type 'new_arch'"),
        ({"model_type": None}, "unknown model_type None"),
        ({"model_type": ["llama"]}, "unknown model_type"),
        ({"num_hidden_layers": -1}, "not a positive integer"),
        ({"num_hidden_layers": True}, "not a positive integer"),
        ({"num_hidden_layers": 10**12}, "not a positive integer"),
        ({"num_hidden_layers": None}, "lacks 'num_hidden_layers'"),
        ({"model_type": "gpt_oss", "layer_types": ["full_attention"]}, "one entry for each"),
        ({"model_type": "gpt_oss", "layer_types": ["full_attention", "magic"]}, "unknown layer type 'magic'"),
        ({"hidden_size": 65, "head_dim": None}, "no multiple of 8 heads"),
    ],
)
def test_what_is_not_known_is_refused(extra: dict[str, object], message: str) -> None:
    base = {"model_type": "llama", "num_hidden_layers": 2, "head_dim": 8, "hidden_size": 64, "num_attention_heads": 8}
    with pytest.raises(UnknownArchitectureError, match=message):
        spec_from_config({**base, **extra}, "x")


def test_files_and_folders(tmp_path: Path) -> None:
    config = {**known_models()["llama-2-7b"], "torch_dtype": "float16"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_spec(str(tmp_path / "config.json")).bytes_per_token(BF16) == 524_288
    (tmp_path / "a.safetensors").write_bytes(b"x" * 100)
    assert read_spec(str(tmp_path)).weight_bytes == 100
    nested = {"model_type": "mm", "text_config": config, "torch_dtype": "bfloat16"}
    (tmp_path / "config.json").write_text(json.dumps(nested))
    assert read_spec(str(tmp_path)).kinds == (LayerKind.FULL,)
    for text in ("[1]", "{", '"x"', "[" * 100_000):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ReplayError, match=r"config\.json"):
            read_spec(str(tmp_path))
    with pytest.raises(ReplayError, match="no such file"):
        read_spec(str(tmp_path / "missing"))


def test_unknown_dtype_and_sizes_are_usage_errors() -> None:
    for call in (lambda: kv_dtype("int3"), lambda: check_claim("much", 1), lambda: check_claim("1 GB", 0)):
        with pytest.raises(UsageError):
            call()
