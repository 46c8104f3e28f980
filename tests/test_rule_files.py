"""Rule files: what is shipped, what is refused and why, what a user's file changes, which rule a call gets."""

from datetime import date
from pathlib import Path

import pytest

from call_builders import call, messages
from hitledger.audit import AuditOptions, audit_calls
from hitledger.logs.ingest import Ingest
from hitledger.policies.rule import Algorithm, Basis, matches
from hitledger.policies.rulefile import RuleFileError, parse, read_rule_file, rules_of, shipped_files, shipped_rules
from hitledger.policies.rules import rules_with, shipped
from hitledger.providers import provider_of
from hitledger_reports.rules_view import listing
from rule_builders import blocks, reads

GOOD = """
schema = 1
provider = "mine"
[[rule]]
id = "mine"
algorithm = "blocks"
valid_from = 2026-01-01
block = 32
evidence = "measured"
source = "a test"
checked = 2026-06-01
"""


def test_every_shipped_row_has_its_source_and_its_day() -> None:
    for rule in shipped().all:
        assert rule.source, rule.id
        assert rule.evidence in Basis
        assert date(2026, 1, 1) < rule.checked < date(2026, 12, 1), rule.id
        assert rule.isolation, rule.id
        assert rule.algorithm is Algorithm.NONE or rule.default_lifetime, rule.id


def test_each_provider_of_the_reference_has_rules() -> None:
    wanted = "anthropic bedrock vertex azure openai google deepseek xai moonshot alibaba zai minimax mistral groq"
    engines = "fireworks together openrouter vllm sglang llama_cpp tensorrt_llm tgi"
    assert {file.provider for file in shipped_files()} == {*wanted.split(), *engines.split()}


def test_a_shipped_file_bears_its_providers_name_and_holds_what_all_files_together_give_it() -> None:
    assert [file.name for file in shipped_files()] == [f"{file.provider}.toml" for file in shipped_files()]
    for file in shipped_files():
        assert shipped_rules(file.provider) == tuple(r for r in shipped().all if r.provider == file.provider)
    assert shipped_rules("../data/anthropic") == shipped_rules("nobody") == shipped_rules("") == ()


def test_names_of_providers_are_those_that_logs_give() -> None:
    engines = {"vllm", "sglang", "llama_cpp", "tensorrt_llm", "tgi"}
    for name in {rule.provider for rule in shipped().all} - engines:
        assert provider_of("", name) == name


def test_ids_are_unique() -> None:
    ids = [rule.id for rule in shipped().all]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("block = 32", "blok = 32", "rule 1 (mine): Object contains unknown field `blok`"),
        ("block = 32", 'block = "32"', "rule 1 (mine): Expected `int`, got `str` - at `$.block`"),
        ("block = 32", "block = 0", "rule 1 (mine): a negative number, or a block or slots below 1"),
        ('"blocks"', '"bloks"', "rule 1 (mine): Invalid enum value 'bloks' - at `$.algorithm`"),
        ('"measured"', '"hearsay"', "rule 1 (mine): Invalid enum value 'hearsay' - at `$.evidence`"),
        ("valid_from = 2026-01-01\n", "", "rule 1 (mine): Object missing required field `valid_from`"),
        ("2026-01-01", '"January"', "rule 1 (mine): Invalid RFC3339 encoded date - at `$.valid_from`"),
        (
            "block = 32",
            "valid_to = 2025-12-31",
            "rule 1 (mine): valid_to is not after valid_from",
        ),
        (
            "block = 32",
            'default_lifetime = "5m"',
            "rule 1 (mine): default_lifetime `5m` is none of its lifetimes",
        ),
        ("schema = 1", "schema = 9", "schema 9, this hitledger reads 1"),
        (
            'provider = "mine"',
            'owner = "mine"',
            "`owner` is no key of a rule file: inherit, provider, rule, schema are",
        ),
        ('provider = "mine"\n', "", 'say whose rules these are: provider = "…"'),
        ("[[rule]]", "[rule]", "`rule` is not a list of tables: write [[rule]]"),
        ("schema = 1", "schema =", "not TOML: Invalid value (at line 2, column 9)"),
        ("schema = 1", "schema = true", "schema True, this hitledger reads 1"),
        ("block = 32", f"block = {'[' * 3000}", "not TOML: nested too deeply"),
        ("block = 32", f"x = '{'a' * 4000}'", "line 8 is longer than 4,000 characters: break it"),
        ("block = 32", f"{'a.' * 101}b = 1", "line 8 has a key of more than 100 parts"),
        ("block = 32", "similarity = nan", "rule 1 (mine): similarity nan is not from 0 to 1"),
        ("block = 32", "models = []", "rule 1 (mine): models names at least one model"),
        ("block = 32", 'order = ["tools"]', "rule 1 (mine): order names each of tools, system, messages once"),
        ("block = 32", 'provider = "other"', "rule 1 (mine): provider stands once, at the head of the file"),
        (
            "block = 32",
            'lifetimes = [{ id = "5m", seconds = 1 }, { id = "5m", seconds = 2 }]',
            "rule 1 (mine): two lifetimes have the same id",
        ),
        (
            "block = 32",
            'read = [{ models = ["*"], rate = "cheap" }]',
            "rule 1 (mine): `cheap` is no multiple of the input price",
        ),
        ('source = "a test"', 'source = ""', "rule 1 (mine): id and source say something"),
    ],
)
def test_a_wrong_row_is_refused_with_file_row_and_reason(old: str, new: str, reason: str) -> None:
    with pytest.raises(RuleFileError) as caught:
        parse(GOOD.replace(old, new), "own.toml")
    assert str(caught.value) == f"own.toml: {reason}"


def test_rules_that_overlap_are_refused_and_rules_that_meet_are_not() -> None:
    second = GOOD.partition("[[rule]]")[2].replace('id = "mine"', 'id = "next"')
    with pytest.raises(RuleFileError, match=r"own.toml: rule 2 \(next\) overlaps mine in time"):
        parse(f"{GOOD}[[rule]]{second}", "own.toml")
    first = GOOD.replace("block = 32", "block = 32\nvalid_to = 2026-05-01")
    met = parse(f"{first}[[rule]]{second.replace('2026-01-01', '2026-05-01')}", "own.toml")
    assert [rule.valid_to for rule in met.rules] == [date(2026, 5, 1), None]
    with pytest.raises(RuleFileError, match=r"rule 2 \(mine\): two rules have this id"):
        parse(f"{GOOD}[[rule]]{GOOD.partition('[[rule]]')[2]}", "own.toml")


def test_a_rule_behind_a_wider_one_would_never_hold() -> None:
    second = GOOD.partition("[[rule]]")[2].replace('id = "mine"', 'id = "next"\nmodels = ["qwen-*"]')
    with pytest.raises(RuleFileError, match=r"own.toml: rule 2 \(next\) overlaps mine in time"):
        parse(f"{GOOD}[[rule]]{second}", "own.toml")
    narrow_first = GOOD.replace("block = 32", 'models = ["Qwen-*"]') + "[[rule]]" + GOOD.partition("[[rule]]")[2]
    rules = parse(narrow_first.replace('"mine"\nalgo', '"narrow"\nalgo', 1), "own.toml").rules
    day = date(2026, 5, 1)
    assert [rule.applies("mine", "qwen-3", "chat", day) for rule in rules] == [True, True]  # capitals do not count
    assert [rule.applies("mine", "llama-4", "chat", day) for rule in rules] == [False, True]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('models = ["*"]', 'models = ["*"]\nonly = ["anthropic-1999"]', "`anthropic-1999` is no rule of anthropic"),
        ('models = ["*"]', 'models = ["*"]\nvalid_to = 2020-01-01', "anthropic has no rule between valid_from and"),
        (
            'models = ["*"]',
            'models = ["*"]\nonly = ["anthropic-2026-09"]\nlifetimes = [{ id = "5m", seconds = -1 }]',
            "(mine/anthropic-2026-09): a negative number",
        ),
        ('models = ["*"]', "models = []", "models names at least one model"),
    ],
)
def test_a_wrong_inheritance_is_refused(old: str, new: str, reason: str) -> None:
    row = '[[inherit]]\nprovider = "anthropic"\nmodels = ["*"]\nevidence = "sdk"\nsource = "s"\nchecked = 2026-01-01\n'
    own = parse(GOOD + row.replace(old, new), "own.toml")
    with pytest.raises(RuleFileError) as caught:
        rules_of((own, *shipped_files()))
    assert str(caught.value).startswith("own.toml: inherit 1")
    assert reason in str(caught.value)
    assert caught.value.exit_code == 2


def test_what_is_inherited_behind_a_rule_for_all_models_would_never_hold() -> None:
    row = '[[inherit]]\nprovider = "vllm"\nmodels = ["qwen*"]\nevidence = "sdk"\nsource = "s"\nchecked = 2026-01-01\n'
    own = parse(GOOD + row, "own.toml")
    with pytest.raises(
        RuleFileError, match=r"inherit 1 \(mine/vllm-v1\) overlaps mine in time: that one needs narrower"
    ):
        rules_of((own, *shipped_files()))


def test_nothing_is_inherited_from_nobody() -> None:
    row = '[[inherit]]\nprovider = "nobody"\nmodels = ["*"]\nevidence = "sdk"\nsource = "s"\nchecked = 2026-01-01\n'
    with pytest.raises(RuleFileError, match=r"own\.toml: inherit 1: there are no rules of `nobody`"):
        rules_of((parse(GOOD + row, "own.toml"),))


def test_what_is_inherited_holds_for_its_models_only_and_says_whose_it_is() -> None:
    rules = {rule.id: rule for rule in shipped().all}
    bedrock = rules["bedrock/anthropic-2026-09"]
    assert bedrock.provider == "bedrock"
    assert bedrock.minimum("anthropic.claude-opus-4-7") == 4096
    assert rules["anthropic-2026-09"].minimum("claude-opus-4-7") == 2048
    assert bedrock.applies("bedrock", "us.anthropic.claude-opus-5-v1:0", "converse", date(2026, 10, 1))
    assert not bedrock.applies("bedrock", "meta.llama4", "converse", date(2026, 10, 1))


@pytest.mark.parametrize(
    ("model", "glob"),
    [
        ("claude-opus-5[1m]", "claude-opus-5"),
        ("anthropic/claude-opus-4.8-fast", "claude-opus-4-8*"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5*"),
        ("openai/gpt-5.6-sol", "gpt-5.6*"),
        ("models/gemini-2.5-flash", "gemini-2.5*"),
        ("amazon.nova-lite-v1:0", "nova-*"),
    ],
)
def test_prefixes_of_routes_and_regions_do_not_count(model: str, glob: str) -> None:
    assert matches(model, (glob,))


def test_the_day_of_the_call_picks_the_rule() -> None:
    body = {"model": "deepseek-chat", "messages": [{"role": "user", "content": "q"}]}
    april = shipped().pick(call(body, provider="deepseek", at=-103 * 86400.0))
    may = shipped().pick(call(body, provider="deepseek", at=-90 * 86400.0))
    assert april is not None
    assert may is not None
    assert (april.id, may.id) == ("deepseek-disk", "deepseek-v4-units")


def test_a_users_file_goes_before_ours(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'schema = 1\nprovider = "anthropic"\n[[rule]]\nid = "own"\nalgorithm = "breakpoints"\nvalid_from = 2024-01-01\n'
        'models = ["claude-opus-5"]\nmax_breakpoints = 4\nlookback = 30\ndefault_lifetime = "5m"\n'
        'lifetimes = [{ id = "5m", seconds = 300 }]\nevidence = "measured"\nsource = "mine"\nchecked = 2026-06-01\n'
    )
    calls = [call(blocks((15, "5m"), number=15), 0), call(blocks((35, "5m"), number=35), 1)]
    assert reads(calls) == [0, 0]
    assert reads(calls, rules_with(own)) == [0, 1500]
    found = audit_calls(calls, Ingest(), AuditOptions(rules=own))
    assert [rule.id for rule in found.rules] == ["own"]


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="cannot be read: No such file or directory"):
        read_rule_file(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(RuleFileError, match="not UTF-8"):
        read_rule_file(tmp_path / "latin.toml")
    (tmp_path / "long.toml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(RuleFileError, match="larger than 1,048,576 bytes"):
        read_rule_file(tmp_path / "long.toml")


def test_a_call_that_no_rule_can_judge_is_said() -> None:
    calls = [
        call(messages("q"), 0, provider=""),
        call({**messages("q"), "model": ""}, 1, provider="cohere"),
        call(messages("q"), 2),
    ]
    notes = [row.notes for row in audit_calls(calls, Ingest(), AuditOptions()).calls]
    assert notes == [("provider_unknown",), ("model_unknown", "no_rule"), ()]


def test_the_listing_warns_of_what_was_checked_long_ago() -> None:
    rules = rules_of((parse(GOOD, "own.toml"),))
    fresh = list(listing(rules, "mine", date(2026, 11, 28)))
    assert fresh[:2] == ["mine (blocks)", "  holds         from 2026-01-01 until further notice"]
    assert fresh[-1] == "  source        a test (measured, checked 2026-06-01)"
    assert list(listing(rules, "mine", date(2026, 11, 29)))[-1] == (
        "! mine: checked 181 days before, on 2026-06-01; read a test again"
    )
    assert list(listing(rules, "mine", date(2025, 1, 1))) == [
        "No rule of mine on 2025-01-01: nothing is expected of its calls on that day."
    ]
