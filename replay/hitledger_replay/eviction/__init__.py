"""Which cached block goes first when the pool is full: one module a policy, one protocol for all."""

from hitledger_replay.eviction.leaf import LeafLRU
from hitledger_replay.eviction.lru import LRU
from hitledger_replay.eviction.protocol import EvictionPolicy
from hitledger_replay.eviction.ranked import FIFO, LFU
from hitledger_replay.eviction.s3fifo import S3FIFO
from hitledger_replay.eviction.slru import SLRU

__all__ = ["FIFO", "LFU", "LRU", "S3FIFO", "SLRU", "EvictionPolicy", "LeafLRU"]
