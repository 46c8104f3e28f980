"""What a replay can be asked for."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hitledger.errors import UsageError
from hitledger_replay.sessions.provider_policy import ProviderPolicy
from hitledger_replay.sessions.render import RenderMode


class Mode(StrEnum):
    """PLAN holds no keys and values; TINY and MODEL differ in the weights only."""

    PLAN = "plan"
    TINY = "tiny"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """`scale` None means: as much as the model's context needs. `runs` None: three for tiny models, else one."""

    mode: Mode = Mode.TINY
    model: str = "tiny"
    device: str = "auto"
    attention: str = "auto"
    kv_dtype: str = "model"
    block_size: int = 16
    policy: ProviderPolicy | None = None
    scale: float | None = 1.0
    runs: int | None = None
    render: RenderMode = RenderMode.AUTO
    allow_network: bool = False
    checkpoint: Path | None = None
    events: Path | None = None
    metrics: Path | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for values that mean nothing."""
        if self.block_size < 1:
            raise UsageError(f"--block-size {self.block_size}: a block has at least one token")
        if self.scale is not None and not 0 < self.scale <= 1:
            raise UsageError(f"--scale {self.scale}: give auto, or a factor above 0 and at most 1")
        if self.runs is not None and self.runs < 1:
            raise UsageError(f"--runs {self.runs}: give at least 1")

    @property
    def lifetime(self) -> float | None:
        """Seconds after which an unused entry is gone; None: never."""
        return None if self.policy is None else float(self.policy.seconds)

    @property
    def num_runs(self) -> int:
        """Passes over all calls."""
        if self.mode is Mode.PLAN:
            return 1
        return self.runs or (3 if self.mode is Mode.TINY else 1)


def parse_scale(text: str) -> float | None:
    """`auto` or a factor. Raises UsageError."""
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--scale {text}: give auto, or a factor above 0 and at most 1") from error


def parse_render(text: str) -> RenderMode:
    """Raises UsageError."""
    if text not in set(RenderMode):
        raise UsageError(f"--render {text}: give {', '.join(RenderMode)}")
    return RenderMode(text)


def choose_mode(mode: str | None, model: str | None) -> tuple[Mode, str]:
    """Without a mode: tiny, or the model that was named. Raises UsageError for combinations that contradict."""
    if mode is not None and mode not in set(Mode):
        raise UsageError(f"--mode {mode}: give plan, tiny or model")
    chosen = Mode(mode) if mode else Mode.TINY if model in (None, "tiny") else Mode.MODEL
    if chosen is Mode.TINY and model not in (None, "tiny"):
        raise UsageError(f"--mode tiny has random weights; leave out --model {model} or use --mode model")
    return chosen, model or ("smollm2" if chosen is Mode.MODEL else "tiny")
