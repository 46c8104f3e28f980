"""Which cached block goes first when the pool is full: one module a policy, one protocol for all."""

from hitledger_replay.eviction.lru import LRU
from hitledger_replay.eviction.protocol import EvictionPolicy

__all__ = ["LRU", "EvictionPolicy"]
