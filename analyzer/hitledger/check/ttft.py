"""Time to the first token of both sides, by the model that a replay fitted."""

from collections.abc import Sequence

from hitledger.check.result import Ttft
from hitledger.check.simulate import Outcome
from hitledger.errors import HitledgerError
from hitledger.measurement import Measurement


def ttft_of(replay: Measurement, old: Sequence[Outcome], new: Sequence[Outcome]) -> Ttft:
    """TTFT = constant + per_token (n - p) + per_pair (n^2 - p^2), the mean over the calls. Raises HitledgerError."""
    model = replay.ttft_model
    if model is None:
        raise HitledgerError("--replay: the measurement holds no fitted TTFT model; run `hitledger replay` with timing")

    def mean(side: Sequence[Outcome]) -> float:
        times = [
            model.constant_ms
            + model.per_token_ms * (one.usage.input_tokens - one.read)
            + model.per_pair_ms * (one.usage.input_tokens**2 - one.read**2)
            for one in side
        ]
        return round(sum(times) / len(times), 3) if times else 0.0

    return Ttft(mean(old), mean(new), replay.engine, replay.model, replay.device)
