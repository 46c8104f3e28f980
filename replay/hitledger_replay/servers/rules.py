"""What each engine's published rule makes readable, as the block size of one simulator.

vllm       whole blocks, at most (n - 1) // block_size of them; the size is on its metrics page
           (vLLM 0.33 `v1/core/kv_cache_manager.py`)
sglang     a radix tree at token granularity with the default page size of 1; the last token is always computed
           (SGLang 0.5.23 `mem_cache/radix_cache.py`)
llama.cpp  the longest prefix in common with what a slot or its host prompt cache holds, at least one token is computed
           (llama.cpp `tools/server`; measured: 1,499 of 1,500, 100, 1,200 for edits at those places)
"""

from hitledger.errors import UsageError

DEFAULT_BLOCK_SIZE = 16
TOKEN_GRANULAR = ("sglang", "llama.cpp")
ENGINES = ("vllm", *TOKEN_GRANULAR)


def block_size_of(engine: str, asked: int | None, stated: int | None) -> int:
    """The granularity to expect: as asked for, by the engine's rule, or as the server states it. Raises UsageError."""
    if engine not in ENGINES:
        raise UsageError(f"--server-engine {engine}: give {', '.join(ENGINES)}")
    if asked is not None:
        return asked
    return 1 if engine in TOKEN_GRANULAR else stated or DEFAULT_BLOCK_SIZE
