"""Token counts against tiktoken itself and against published counts."""

import hashlib
import inspect
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public as published
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from hitledger.encodings import CL100K, O200K, RUN_LIMIT, encoding_of, load_encoding, parts_of
from hitledger.errors import HitledgerError, UsageError
from hitledger.segments import Layout, digest_of
from hitledger.tokens import CHARS_PER_TOKEN, IMAGE_TOKENS, TokenCounter, parse_tokenizers
from hitledger.types import Kind, Segment, Tier

VOCAB = Path(__file__).parent.parent / "analyzer" / "hitledger" / "vocab"


def segment(text: str | None, kind: Kind = Kind.TEXT, chars: int | None = None) -> Segment:
    length = len(text or "") if chars is None else chars
    return Segment(kind, Tier.MESSAGES, "messages[0]", "user", digest_of(kind, "user", f"{text}{chars}"), length, text)


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return TokenCounter()


@pytest.mark.parametrize("name", [O200K, CL100K])
def test_vocabulary_and_pattern_are_tiktokens_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected: dict[str, str] = {}

    def hash_only(url: str, expected_hash: str) -> dict[bytes, int]:
        expected[name] = expected_hash
        return {}

    monkeypatch.setattr(published, "load_tiktoken_bpe", hash_only)
    official = getattr(published, name)()
    assert hashlib.sha256((VOCAB / f"{name}.tiktoken").read_bytes()).hexdigest() == expected[name]
    assert load_encoding(name)._pat_str == official["pat_str"]
    assert "pat_str" in inspect.signature(tiktoken.Encoding).parameters


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [("tiktoken is great!", 6, 6), ("お誕生日おめでとう", 8, 9), ("", 0, 0)],  # OpenAI cookbook
)
def test_published_counts(counter: TokenCounter, text: str, o200k: int, cl100k: int) -> None:
    assert counter.count(segment(text), "gpt-5.6-terra") == o200k
    assert counter.count(segment(text), "gpt-4-turbo") == cl100k


@pytest.mark.parametrize(
    ("model", "encoding", "own"),
    [
        ("gpt-6.1-sol", O200K, False),
        ("gpt-5.6-terra", O200K, True),
        ("gpt-5-2025-08-07", O200K, True),
        ("o3-mini", O200K, True),
        ("openai/gpt-4o-mini", O200K, True),
        ("gpt-4.1", O200K, True),
        ("gpt-4-0613", CL100K, True),
        ("gpt-35-turbo", CL100K, True),
        ("ft:gpt-3.5-turbo:org", CL100K, True),
        ("claude-opus-5-5", O200K, False),
        ("", O200K, False),
    ],
)
def test_encoding_by_model_name(counter: TokenCounter, model: str, encoding: str, own: bool) -> None:
    assert encoding_of(model) == (encoding, own)
    assert counter.is_exact(model) is own


def test_special_tokens_in_a_text_are_text(counter: TokenCounter) -> None:
    assert len(counter.ids("<|endoftext|>")) > 1


def test_a_segment_is_tokenized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = TokenCounter()
    texts: list[str] = []
    vocabulary = counter._vocabulary("gpt-5")
    monkeypatch.setattr(vocabulary, "ids", lambda text: texts.append(text) or (1, 2))
    assert [counter.count(segment("same"), model) for model in ("gpt-5", "gpt-5.6-sol", "claude-opus-5")] == [2, 2, 2]
    assert texts == ["same"]


def test_segments_without_countable_text_are_estimated(counter: TokenCounter) -> None:
    assert counter.count(segment(None, chars=10 * CHARS_PER_TOKEN + 1), "gpt-5") == 11
    assert counter.count(segment(None, Kind.HIDDEN, chars=0), "gpt-5") == 0
    assert counter.count(segment('{"type":"image"}', Kind.IMAGE), "gpt-5") == IMAGE_TOKENS
    pages = '{"type":"document","source":{"data":"blake2b:%s:310000"}}' % ("0" * 32)
    assert counter.count(segment(pages, Kind.DOCUMENT), "gpt-5") == 3 * 2250
    result = '[{"type":"image","data":"blake2b:%s:9000"}]' % ("0" * 32)
    around = len(counter.ids('[{"type":"image","data":""}]'))
    assert counter.count(segment(result, Kind.TOOL_RESULT), "gpt-5") == around + IMAGE_TOKENS
    assert counter.count(segment(result, Kind.TEXT), "gpt-5") == len(counter.ids(result))
    assert counter.count(segment("plain words", Kind.DOCUMENT), "gpt-5") == 2


def test_token_id_segments_count_their_ids(counter: TokenCounter) -> None:
    prompt = Layout().token_ids(range(35))
    assert [counter.count(part, "any") for part in prompt.segments()] == [16, 16, 3]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60), st.integers(0, 60))
def test_prefix_tokens_are_whole_tokens(text: str, chars: int) -> None:
    counter = TokenCounter()
    found = counter.prefix_tokens(text, chars)
    encoding = load_encoding(O200K)
    ids = counter.ids(text)
    head = text[:chars].encode()
    assert head.startswith(encoding.decode_bytes(ids[:found]))
    if found < len(ids):
        assert len(encoding.decode_bytes(ids[: found + 1])) > len(head)


def test_prefix_tokens_with_lone_surrogates(counter: TokenCounter) -> None:
    assert counter.prefix_tokens("ab \ud800 cd", 100) == len(counter.ids("ab \ud800 cd"))


@given(st.text(max_size=50))
def test_ordinary_texts_are_encoded_whole(text: str) -> None:
    assert list(parts_of(text)) == [text]


@pytest.mark.parametrize("character", ["a", " ", "=", "\n", "中", "\u0301"])
def test_one_character_a_million_times(counter: TokenCounter, character: str) -> None:
    text = character * 1_000_000
    parts = list(parts_of(text + "b"))
    assert "".join(parts) == text + "b"
    assert max(map(len, parts)) <= RUN_LIMIT + 1
    whole = len(load_encoding(O200K).encode_ordinary(character * RUN_LIMIT))
    assert counter.count(segment(text), "gpt-5") == pytest.approx(whole * 1_000_000 / RUN_LIMIT, rel=0.01)


def test_cuts_change_a_count_by_little(counter: TokenCounter) -> None:
    text = "word1+" * 5000  # 30,000 characters without a space
    whole = len(load_encoding(O200K).encode_ordinary(text))
    cuts = len(list(parts_of(text))) - 1
    assert cuts == 7
    assert abs(len(counter.ids(text)) - whole) <= 2 * cuts


def test_local_tokenizer(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "ab": 1, "cd": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>"])
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    counter = TokenCounter(parse_tokenizers((f"qwen*={path}",)))
    assert counter.is_exact("qwen4-coder")
    assert not counter.is_exact("other")
    assert counter.ids("ab cd ab", "qwen4-coder") == (1, 2, 1)
    assert counter.count(segment("ab cd"), "qwen4-coder") == 2
    assert counter.prefix_tokens("ab cd ab", 4, "qwen4-coder") == 1
    assert counter.prefix_tokens("ab cd ab", 99, "qwen4-coder") == 3
    assert 3 not in counter.ids("<s>", "qwen4-coder")  # the special token's id


def test_bad_tokenizer_options(tmp_path: Path) -> None:
    bad = tmp_path / "tokenizer.json"
    bad.write_text("{}")
    with pytest.raises(HitledgerError, match="not a tokenizer"):
        TokenCounter({"m": bad}).ids("x", "m")
    for option in ("qwen", "=x", f"m={tmp_path / 'absent'}"):
        with pytest.raises(UsageError, match="give MODEL=FILE"):
            parse_tokenizers((option,))
