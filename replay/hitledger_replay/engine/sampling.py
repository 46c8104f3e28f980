"""From logits to the next token: greedy, or drawn with a seed."""

from dataclasses import dataclass

import torch

from hitledger.errors import UsageError


@dataclass(frozen=True, slots=True)
class Sampling:
    """`temperature` 0 is greedy. `top_k` 0 and `top_p` 1 keep every token."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises UsageError for values that describe no distribution."""
        if self.temperature < 0 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise UsageError(f"{self}: temperature and top_k must be at least 0, top_p above 0 and at most 1")


GREEDY = Sampling()


class Sampler:
    """One for each generated sequence: the same seed gives the same draws, whatever else is in the batch."""

    def __init__(self, sampling: Sampling, stream: int = 0) -> None:
        """`stream` tells parallel samples of one request apart."""
        self.sampling = sampling
        self._generator = torch.Generator()
        self._generator.manual_seed(sampling.seed + 1_000_003 * stream)

    def sample(self, logits: torch.Tensor) -> int:
        """The next token id from logits (vocabulary,)."""
        if self.sampling.temperature == 0:
            return int(logits.argmax())
        scores = logits.float().cpu() / self.sampling.temperature
        ordered, token_ids = scores.sort(descending=True, stable=True)
        if self.sampling.top_k:
            ordered, token_ids = ordered[: self.sampling.top_k], token_ids[: self.sampling.top_k]
        probabilities = torch.softmax(ordered, -1)
        kept = probabilities.cumsum(-1) - probabilities < self.sampling.top_p
        drawn = torch.multinomial(probabilities[kept], 1, generator=self._generator)
        return int(token_ids[kept][drawn])
