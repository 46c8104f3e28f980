"""How much memory several continuations of one prompt share: parallel sampling and beam search, on the real cache."""

from collections.abc import Sequence as Steps
from dataclasses import dataclass
from random import Random

from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.blocks import blocks_for
from hitledger_replay.cache import PagedCache
from hitledger_replay.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Sharing:
    """Blocks held at the end, counted once (`physical`) and for each sequence (`logical`), and blocks copied."""

    physical: int
    logical: int
    copies: int

    @property
    def saving(self) -> float:
        """Share of the memory that sharing saves: 1 - physical / logical."""
        return 1 - self.physical / self.logical


def parallel_sampling(prompt_tokens: int, output_tokens: int, samples: int, block_size: int = 16) -> Sharing:
    """`samples` different continuations of one prompt, generated side by side."""
    return beam_search(prompt_tokens, [list(range(samples))] + [list(range(samples))] * (output_tokens - 1), block_size)


def beam_search(prompt_tokens: int, parents: Steps[Steps[int]], block_size: int = 16) -> Sharing:
    """One generated token a step; `parents[step][beam]` is the beam of the step before that this one continues.

    At the first step all beams continue the prompt. A beam nobody continues is freed.
    """
    width = max(len(step) for step in parents)
    worst = (width + 1) * 2 * blocks_for(prompt_tokens + len(parents), block_size) + 2
    cache = PagedCache(worst, block_size)
    prompt = Sequence("prompt", range(prompt_tokens), root=root_hash(CacheIdentity("sampling")), block_size=block_size)
    cache.admit(prompt)
    cache.populate(prompt, prompt_tokens)
    beams = [prompt]
    for step, chosen in enumerate(parents):
        sources = [0] * len(chosen) if step == 0 else chosen
        children = [cache.fork(beams[source], f"{step}.{beam}") for beam, source in enumerate(sources)]
        for old in beams:
            cache.free(old)
        for beam, child in enumerate(children):
            cache.append(child, prompt_tokens + beam)
            cache.populate(child, 1)
        beams = children
    physical = len({block for beam in beams for block in beam.block_table})
    return Sharing(physical, sum(len(beam.block_table) for beam in beams), cache.stats.num_copies)


def drawn_parents(width: int, output_tokens: int, seed: int = 0) -> list[list[int]]:
    """`parents` for `beam_search` without a model: every beam continues one drawn at random, all equally likely.

    A model that prefers some beams keeps fewer of them and shares more.
    """
    random = Random(seed)
    return [[random.randrange(width) for _ in range(width)] for _ in range(output_tokens)]
