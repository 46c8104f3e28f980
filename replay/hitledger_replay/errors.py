"""Errors of the replay. Each is a HitledgerError, so the command line prints one line and exits with its code."""

from hitledger.errors import HitledgerError


class ReplayError(HitledgerError):
    """The replay was asked for something it cannot do."""


class OutOfBlocksError(ReplayError):
    """The pool has too few evictable blocks. Nothing was changed: preempt or free a sequence, then ask again."""


class OutOfSwapError(ReplayError):
    """The swap space cannot hold the sequence. Nothing was changed: preempt by recomputation instead."""


class IllegalTransitionError(ReplayError):
    """A sequence was asked for a step its state does not allow, such as appending to a finished one."""


class CorruptPoolError(ReplayError):
    """The bookkeeping contradicts itself: a reference is leaked, counted twice, or a hash does not fit its block."""


class TraceError(ReplayError):
    """A trace row is not what its format says. The message names file and line."""


class UnknownArchitectureError(ReplayError):
    """The KV layout of a model is not known, and a guess would be off by a factor."""
