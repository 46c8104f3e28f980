"""Models: a GGUF file becomes the model it was written from; damaged files and unknown names are clear errors."""

import json
import struct
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine_models import random_model, random_tokens
from hitledger_replay.engine.engine import Engine, EngineOptions
from hitledger_replay.engine.request import Request
from hitledger_replay.errors import ReplayError, UnknownArchitectureError
from hitledger_replay.models import smollm2
from hitledger_replay.models.export import export_model
from hitledger_replay.models.ggufweights import LAYER_NAMES, OUTER_NAMES
from hitledger_replay.models.load import load_model

CPU = torch.device("cpu")
TEXT = "In 1984  there were 365 days\n\n  and 12 months."


def byte_vocabulary() -> tuple[list[str], list[str]]:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = ["1 2", "3 6", "36 5", "Ċ Ċ", "Ġ Ġ", "a n"]
    return [*alphabet, *(merge.replace(" ", "") for merge in merges), "<|im_start|>", "<|im_end|>"], merges


def interleaved(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Row 2i of a head is row i of its first half, row 2i + 1 row i of its second: what llama.cpp wants."""
    out = weight.clone()
    size = weight.shape[0] // heads
    for head in range(heads):
        for i in range(size // 2):
            out[head * size + 2 * i] = weight[head * size + i]
            out[head * size + 2 * i + 1] = weight[head * size + size // 2 + i]
    return out


def write_gguf(path: Path, kind: str, quantization: gguf.GGMLQuantizationType, pre: str = "smollm") -> Any:
    """Write a random model as llama.cpp's converter would, name by name."""
    model = random_model(kind)
    config, state = model.config, model.state_dict()
    writer = gguf.GGUFWriter(path, kind)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    tokens, merges = byte_vocabulary()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([1] * (len(tokens) - 2) + [3, 3])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(len(tokens) - 2)
    writer.add_chat_template("{% for m in messages %}{{ m.content }}{% endfor %}")
    names = dict(OUTER_NAMES)
    for layer in range(config.num_hidden_layers):
        names |= {f"blk.{layer}.{a}": f"model.layers.{layer}.{b}" for a, b in LAYER_NAMES.items()}
    for name, target in names.items():
        if target not in state:
            continue
        weight = state[target]
        if kind == "llama" and name.endswith(("attn_q.weight", "attn_k.weight")):
            heads = config.num_attention_heads if "attn_q" in name else config.num_key_value_heads
            weight = interleaved(weight, heads)
        chosen = quantization if weight.dim() == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quantize(weight.numpy(), chosen), raw_dtype=chosen)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_a_gguf_file_is_the_model_it_was_written_from(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    original = write_gguf(path, kind, gguf.GGMLQuantizationType.F32)
    loaded = load_model(str(path), CPU)
    state = loaded.model.state_dict()
    assert all(torch.equal(weight, state[name]) for name, weight in original.state_dict().items())
    prompt = random_tokens(40)
    want = Engine(original, EngineOptions(8, keep_logits=True)).run_one(Request("r", prompt)).first_logits
    got = Engine(loaded.model, EngineOptions(8, keep_logits=True)).run_one(Request("r", prompt)).first_logits
    assert want is not None
    assert got is not None
    assert torch.equal(want, got)
    assert (loaded.max_tokens, loaded.special_tokens) == (1024, {"bos_token": "<|im_start|>"})


def test_quantized_weights_are_near(tmp_path: Path) -> None:
    original = write_gguf(tmp_path / "m.gguf", "llama", gguf.GGMLQuantizationType.Q8_0)
    state = load_model(str(tmp_path / "m.gguf"), CPU).model.state_dict()
    for name, weight in original.state_dict().items():
        assert (weight - state[name]).abs().max() <= weight.abs().max() / 100


def test_the_pre_tokenizer_named_in_the_file_decides(tmp_path: Path) -> None:
    ids = {}
    tokens, _ = byte_vocabulary()
    for pre in ("smollm", "gpt-2"):
        write_gguf(tmp_path / pre, "llama", gguf.GGMLQuantizationType.F32, pre)
        (tmp_path / pre).rename(tmp_path / f"{pre}.gguf")
        ids[pre] = load_model(str(tmp_path / f"{pre}.gguf"), CPU).tokenizer.ids("<|im_start|>" + TEXT)
    smollm, gpt2 = ([tokens[i] for i in found] for found in ids.values())
    assert smollm[0] == "<|im_start|>"
    assert "365" in gpt2
    assert "365" not in smollm
    assert [t for t in smollm if t.isdigit()] == list("1984365") + list("12")


def test_damaged_files_are_clear_errors(tmp_path: Path) -> None:
    good = tmp_path / "m.gguf"
    write_gguf(good, "llama", gguf.GGMLQuantizationType.F32)
    content = good.read_bytes()
    bad = tmp_path / "bad.gguf"
    cases = {
        "not a GGUF": b"PK\x03\x04" + content[4:],
        "version 9": content[:4] + struct.pack("<I", 9) + content[8:],
        "truncated": content[:200],
        "past the end": content[:-4000],
        "entries": content[:8] + struct.pack("<Q", 1 << 60) + content[16:],
    }
    for message, damaged in cases.items():
        bad.write_bytes(damaged)
        with pytest.raises(ReplayError, match=message):
            load_model(str(bad), CPU)
    name = b"token_embd.weight"
    place = content.index(name) + len(name) + 4
    for shape in ((0, 256), (1 << 60, 256), (63, 256)):
        bad.write_bytes(content[:place] + struct.pack("<QQ", *shape) + content[place + 16 :])
        with pytest.raises(ReplayError):
            load_model(str(bad), CPU)
    key = b"llama.block_count"
    place = content.index(key) + len(key) + 4
    bad.write_bytes(content[:place] + struct.pack("<I", 1 << 30) + content[place + 4 :])
    with pytest.raises(ReplayError, match="1073741824 layers"):
        load_model(str(bad), CPU)
    bad.write_bytes(b"")
    with pytest.raises(ReplayError, match="cannot be read"):
        load_model(str(bad), CPU)
    for cut in range(0, 4000, 97):
        bad.write_bytes(content[:cut])
        with pytest.raises(ReplayError):
            load_model(str(bad), CPU)


def test_unknown_architectures_and_pre_tokenizers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "rwkv6")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UnknownArchitectureError, match="rwkv6"):
        load_model(str(path), CPU)
    write_gguf(path, "llama", gguf.GGMLQuantizationType.F32, pre="martian")
    with pytest.raises(ReplayError, match="martian"):
        load_model(str(path), CPU)


def test_names_that_mean_nothing() -> None:
    with pytest.raises(ReplayError, match="--allow-network"):
        load_model("someone/some-model", CPU)


def test_a_missing_smollm2_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)
    with pytest.raises(ReplayError, match="hitledger models install smollm2"):
        smollm2.smollm2_file()


def test_a_folder_is_loaded_and_a_broken_one_refused(tmp_path: Path) -> None:
    model = random_model("llama")
    model.save_pretrained(tmp_path)
    tokens, merges = byte_vocabulary()
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>")
    fast.chat_template = "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"
    fast.save_pretrained(tmp_path)
    loaded = load_model(str(tmp_path), CPU)
    assert torch.equal(loaded.model.lm_head.weight, model.lm_head.weight)
    assert loaded.tokenizer.ids("an<|im_end|>") == (vocabulary["an"], vocabulary["<|im_end|>"])
    assert loaded.chat_template == fast.chat_template
    assert (loaded.max_tokens, loaded.vocabulary_size) == (1024, 256)
    save_file({k: v for k, v in model.state_dict().items() if "mlp" not in k}, tmp_path / "model.safetensors")
    with pytest.raises(ReplayError, match="weights are missing"):
        load_model(str(tmp_path), CPU)
    (tmp_path / "model.safetensors").write_bytes(b"{}")
    with pytest.raises(ReplayError, match="cannot be loaded"):
        load_model(str(tmp_path), CPU)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "martian"}))
    with pytest.raises(ReplayError, match="cannot be loaded"):
        load_model(str(tmp_path), CPU)


def test_an_exported_model_is_the_same_model(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf", "llama", gguf.GGMLQuantizationType.Q8_0)
    first = load_model(str(tmp_path / "m.gguf"), CPU)
    export_model(first, tmp_path / "out")
    second = load_model(str(tmp_path / "out"), CPU)
    state = second.model.state_dict()
    assert all(torch.equal(weight, state[name]) for name, weight in first.model.state_dict().items())
    assert second.tokenizer.ids("<|im_start|>" + TEXT) == first.tokenizer.ids("<|im_start|>" + TEXT)
    assert second.chat_template == first.chat_template
    with pytest.raises(ReplayError, match="only models from GGUF"):
        export_model(second, tmp_path / "again")


def test_tiny_is_the_same_every_time() -> None:
    first, second = load_model("tiny", CPU), load_model("tiny", CPU)
    assert all(torch.equal(a, b) for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True))
    assert first.tokenizer.ids("hello world") == (24912, 2375)  # o200k_base
    result = Engine(first.model, EngineOptions(8)).run_one(Request("r", first.tokenizer.ids("hello world")))
    assert result.num_prompt_tokens == 2
