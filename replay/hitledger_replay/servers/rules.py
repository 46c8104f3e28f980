"""What each engine's published rule makes readable: a simulator for one server.

vllm       whole blocks, at most (n - 1) // block_size of them; the size is on its metrics page
           (vLLM 0.33 `v1/core/kv_cache_manager.py`)
sglang     a radix tree at token granularity with the default page size of 1; the last token is always computed
           (SGLang 0.5.23 `mem_cache/radix_cache.py`)
llama.cpp  slots and what its host memory keeps, token by token: `slots.py`
"""

from hitledger.errors import UsageError
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.slotflags import slot_rule
from hitledger_replay.servers.slots import SlotReads
from hitledger_replay.sessions.expected import ExpectedReads

DEFAULT_BLOCK_SIZE = 16
AUTO, VLLM, LLAMA_CPP = "auto", "vllm", "llama.cpp"
TOKEN_GRANULAR = ("sglang", LLAMA_CPP)
ENGINES = (VLLM, *TOKEN_GRANULAR)
OWNERS = {"llamacpp": LLAMA_CPP, "sglang": "sglang", "vllm": VLLM}  # `owned_by` on /v1/models


def engine_of(asked: str, client: ServerClient) -> str:
    """Whose rule to expect: as asked for, or as /v1/models states it; vLLM's where it does not. Raises UsageError."""
    if asked == AUTO:
        return OWNERS.get(client.owner or "", VLLM)
    if asked not in ENGINES:
        raise UsageError(f"--server-engine {asked}: give {', '.join((AUTO, *ENGINES))}")
    return asked


def block_size_of(engine: str, asked: int | None, stated: int | None) -> int:
    """The granularity to expect: as asked for, by the engine's rule, or as the server states it. Raises UsageError."""
    if engine == LLAMA_CPP and asked not in (None, 1):
        raise UsageError(f"--block-size {asked}: llama.cpp's server reuses single tokens")
    if asked is not None:
        return asked
    return 1 if engine in TOKEN_GRANULAR else stated or DEFAULT_BLOCK_SIZE


def simulator_of(engine: str, size: int, flags: str, client: ServerClient) -> ExpectedReads | SlotReads:
    """`flags` are those that llama.cpp's server was started with. Raises UsageError."""
    if engine == LLAMA_CPP:
        return SlotReads(slot_rule(flags, client))
    if flags:
        raise UsageError("--server-flags: only llama.cpp's server has flags that change its rule")
    return ExpectedReads(size)
