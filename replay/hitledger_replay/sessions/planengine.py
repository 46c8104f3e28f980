"""The pool alone: exact reuse at any length, no tensors, no time."""

from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.cache import OnEvent, PagedCache
from hitledger_replay.engine.request import FirstToken, Request, RequestResult
from hitledger_replay.engine.salting import salted
from hitledger_replay.misses import missed_tokens
from hitledger_replay.moves import Tier
from hitledger_replay.sequence import Sequence

NO_TIME = FirstToken(0.0, 0.0, 0.0, 0.0, 0.0)


class PlanEngine:
    """Runs requests through the same cache as the engine does, one after the other."""

    def __init__(self, num_blocks: int, block_size: int, identity: CacheIdentity, on_event: OnEvent | None = None):
        self.cache = PagedCache(num_blocks, block_size, on_event=on_event)
        self.identity = identity

    def run_one(self, request: Request) -> RequestResult:
        """Admit, compute nothing, populate, add the reply, free."""
        root, size = root_hash(salted(self.identity, request.salt)), self.cache.block_size
        sequence = Sequence(request.id, request.prompt, root=root, block_size=size)
        admission = self.cache.admit(sequence)
        self.cache.take_moves()
        self.cache.populate(sequence, len(sequence) - sequence.num_computed_tokens)
        for token_id in request.forced_output[:-1]:
            self.cache.append(sequence, token_id)
        self.cache.populate(sequence, len(sequence) - sequence.num_computed_tokens)
        self.cache.free(sequence)
        tiers = {Tier.DEVICE: admission.num_cached_tokens} if admission.num_cached_tokens else {}
        return RequestResult(
            id=request.id,
            session=request.session,
            num_prompt_tokens=len(request.prompt),
            num_cached_tokens=admission.num_cached_tokens,
            cached_by_tier=tiers,
            misses=missed_tokens(admission.misses),
            outputs=(request.forced_output,),
            first_token=NO_TIME,
            num_preemptions=0,
            num_copies=0,
            tail_slots=-len(request.prompt) % size,
        )
