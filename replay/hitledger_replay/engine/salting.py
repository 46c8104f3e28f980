"""A request's salt as part of what its blocks are found by."""

from dataclasses import replace

from hitledger_replay.blockhash import CacheIdentity


def salted(identity: CacheIdentity, salt: str) -> CacheIdentity:
    """The identity for requests with this salt; without one the engine's own."""
    return replace(identity, salt=salt) if salt else identity
