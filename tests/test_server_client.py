"""One request to a server: addresses, names, limits of size and time, numbers that cannot be."""

from typing import Any

import pytest

from hitledger.errors import UsageError
from hitledger_replay.servers import client as client_module
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.errors import ServerError, ServerRefusedError, ServerTimeoutError
from hitledger_replay.servers.metrics import Counters, read_counters
from hitledger_replay.servers.tokenizer import ServerTokenizer
from toy_server import A, Behaviour, serving


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "BACKOFF_SECONDS", 0.001)


def test_transient_failures_are_tried_again_and_lasting_ones_are_not() -> None:
    behaviour = Behaviour(fail_first=2)
    with serving(behaviour) as client:
        assert client.complete(A).prompt_tokens == 150
    assert len(behaviour.requests) == 1
    with serving(Behaviour(fail_first=9)) as client, pytest.raises(ServerError, match="status 503: busy"):
        client.complete(A)


def test_a_server_that_hangs_times_out() -> None:
    with serving(Behaviour(hang=True), seconds=0.2) as client, pytest.raises(ServerError, match="--timeout"):
        client.complete(A)


def test_llama_cpp_counts_computed_and_found_tokens_apart() -> None:
    with serving(
        Behaviour(counters="llamacpp:prompt_tokens_total 357\nllamacpp:prompt_tokens_cached_total 363\n")
    ) as client:
        assert read_counters(client) == Counters(720, 363, None)


def test_a_prompt_is_sent_to_no_other_address() -> None:
    other = Behaviour()
    with serving(other) as elsewhere, serving(Behaviour(elsewhere=elsewhere.url)) as client:
        with pytest.raises(
            ServerRefusedError, match=f"status 307: it points to {elsewhere.url}/v1/completions, which is"
        ):
            client.complete(A)
        with pytest.raises(ServerError, match=r"/tokenize: status 307.*only calls whose log holds token ids"):
            ServerTokenizer(client).ids("ab")
    assert other.requests == []


def test_an_answer_that_drips_ends_in_time() -> None:
    with (
        serving(Behaviour(drips=True), seconds=0.3) as client,
        pytest.raises(ServerTimeoutError, match="raise --timeout"),
    ):
        client.complete(A)


def test_a_failed_attempt_is_no_part_of_the_time_to_the_first_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a second later: one when the attempt that was answered began, the rest while it is read."""
    ticks = iter(range(10_000))
    monkeypatch.setattr(client_module.time, "perf_counter", lambda: float(next(ticks)))
    with serving(Behaviour(), seconds=9_000.0) as client:
        plain = client.complete(A).ttft
    with serving(Behaviour(fail_first=2), seconds=9_000.0) as client:
        assert client.complete(A).ttft == plain


@pytest.mark.parametrize("name", ["\ud800", "", "n" * 1001])
def test_a_name_that_no_model_can_have_is_none(name: str) -> None:
    with serving(Behaviour(name=name)) as client, pytest.raises(ServerError, match="it names no model; use --model"):
        client.complete(A)


def test_why_no_model_is_named_is_said() -> None:
    class Unlisted(ServerClient):
        def get_json(self, path: str) -> dict[str, Any]:
            raise ServerError(f"{self.url}{path}: status 301: it points to https://h, which is not followed")

    with pytest.raises(
        ServerError, match=r"^http://h/v1/models: status 301: it points to https://h, which .*; use --model"
    ):
        _ = Unlisted("http://h").model


@pytest.mark.parametrize(
    ("page", "read"),
    [
        ("vllm:prefix_cache_queries_total 1e999\nvllm:prefix_cache_hits_total NaN\n", Counters(None, None, None)),
        ("llamacpp:prompt_tokens_total 1e999\nllamacpp:prompt_tokens_cached_total 3\n", Counters(None, 3, None)),
        (f'vllm:cache_config_info{{block_size="{"9" * 5000}"}} 1\n', Counters(None, None, None)),
        ("a{\nvllm:prefix_cache_hits_total 7\n" + "a{\n" * 200_000, Counters(None, 7, None)),
    ],
    ids=["infinite", "infinite computed", "too many digits", "labels that never close"],
)
def test_a_metrics_page_that_cannot_be(page: str, read: Counters) -> None:
    with serving(Behaviour(counters=page)) as client:
        assert read_counters(client) == read


@pytest.mark.parametrize("tokens", [[True], [-1], [10**30], [1.0], "12", {}])
def test_tokens_that_are_none(tokens: Any) -> None:
    with serving(Behaviour(tokens=tokens)) as client, pytest.raises(ServerError, match="/tokenize gives no token ids"):
        ServerTokenizer(client).ids("ab")


def test_the_server_s_tokenizer() -> None:
    with serving(Behaviour()) as client:
        tokenizer = ServerTokenizer(client)
        assert tokenizer.ids("ab") == (97, 98)
        assert tokenizer.ids("") == ()


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "ftp://h/", "http://user:pw@h", "file:///etc/passwd", "http://", "http://[", "http://h:99999"],
)
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="http://HOST:PORT"):
        ServerClient(url)
