"""What to simulate: policies, capacities, window, definitions, backends, tiers."""

from dataclasses import dataclass
from enum import StrEnum

from hitledger.errors import UsageError
from hitledger_replay.simulation.definitions import Definition, Window
from hitledger_replay.simulation.routing import Routing

MAX_BLOCKS = 1 << 40
MAX_BACKENDS = 1 << 16
UNLIMITED = ("inf", "unlimited")


class Policy(StrEnum):
    """Eviction policies of the simulator. BELADY knows the future; LIFETIME is unlimited but entries expire."""

    LRU = "lru"
    LEAF_LRU = "leaf-lru"
    FIFO = "fifo"
    LFU = "lfu"
    SLRU = "slru"
    S3_FIFO = "s3-fifo"
    BELADY = "belady"
    LIFETIME = "lifetime"


class CapacityUnit(StrEnum):
    """In what a capacity is given."""

    BLOCKS = "blocks"
    TOKENS = "tokens"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Capacity:
    """Room in `unit`. How many blocks that is depends on the trace, so it is settled when a trace is simulated."""

    amount: int
    unit: CapacityUnit = CapacityUnit.BLOCKS
    token_bytes: int = 1

    def blocks(self, block_size: int) -> int:
        """Whole blocks of `block_size` tokens. Raises UsageError if not one fits or the number is absurd."""
        divisor = {
            CapacityUnit.BLOCKS: 1,
            CapacityUnit.TOKENS: block_size,
            CapacityUnit.BYTES: block_size * self.token_bytes,
        }
        blocks = self.amount // divisor[self.unit]
        if not 0 < blocks <= MAX_BLOCKS:
            raise UsageError(
                f"a capacity of {self.amount} {self.unit} is {blocks} blocks; give one from 1 to {MAX_BLOCKS}"
            )
        return blocks


@dataclass(frozen=True, slots=True)
class Plan:
    """Capacities are of each backend, None for no limit; `lifetime_seconds` is used by LIFETIME only."""

    policies: tuple[Policy, ...] = (Policy.LRU,)
    capacities: tuple[Capacity | None, ...] = (None,)
    window: Window = Window.ALL
    definitions: tuple[Definition, ...] = (Definition.BLOCK_TOKENS,)
    lifetime_seconds: float = 300.0
    backends: int = 1
    routing: Routing = Routing.ROUND_ROBIN
    host_blocks: int = 0
    disk_blocks: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.backends <= MAX_BACKENDS or not self.lifetime_seconds > 0:
            raise UsageError(f"the lifetime must be positive and backends from 1 to {MAX_BACKENDS}")
        if self.host_blocks < 0 or self.disk_blocks < 0:
            raise UsageError("a tier cannot have less than 0 blocks")

    def blocks(self, block_size: int) -> tuple[int | None, ...]:
        """The capacities in blocks of a trace."""
        return tuple(None if capacity is None else capacity.blocks(block_size) for capacity in self.capacities)


def parse_policies(text: str) -> tuple[Policy, ...]:
    """Comma-separated names, such as "lru,belady". Raises UsageError."""
    try:
        return tuple(dict.fromkeys(Policy(name.strip()) for name in text.split(",")))
    except ValueError as error:
        raise UsageError(f"{error}; known policies: {', '.join(Policy)}") from error


def parse_block_sizes(text: str) -> tuple[int | None, ...]:
    """Comma-separated numbers of tokens; nothing given: the trace's own. Raises UsageError."""
    sizes = [part.strip() for part in text.split(",")] if text else []
    for size in sizes:
        if not size.isascii() or not size.isdigit() or len(size) > 9 or int(size) == 0:
            raise UsageError(f"block size {size!r} is not a positive number of tokens")
    return tuple(dict.fromkeys(int(size) for size in sizes)) or (None,)


def parse_capacities(blocks: str, tokens: str, size: str, model: str) -> tuple[Capacity | None, ...]:
    """Comma-separated capacities from one of three options, "inf" for no limit; none of them given: no limit.

    `size` ("80GB,1TiB") is divided by the bytes of a block of `model` in the model's own dtype. Raises UsageError.
    """
    given = [(unit, text) for unit, text in zip(CapacityUnit, (blocks, tokens, size), strict=True) if text]
    if not given:
        return (None,)
    if len(given) > 1:
        raise UsageError("give the capacity in blocks, in tokens or in bytes, not in two of them")
    unit, text = given[0]
    if unit is CapacityUnit.BYTES and not model:
        raise UsageError("a capacity in bytes needs --model, to know the bytes of a token")
    if unit is CapacityUnit.BYTES:
        return _byte_capacities(text, model)
    return tuple(dict.fromkeys(_capacity(part.strip(), unit) for part in text.split(",")))


def _byte_capacities(text: str, model: str) -> tuple[Capacity | None, ...]:
    from hitledger_replay.claims import parse_bytes  # what only this question needs is not loaded for the others
    from hitledger_replay.dtypes import kv_dtype
    from hitledger_replay.modelconfig import read_spec

    spec = read_spec(model)
    token_bytes = spec.bytes_per_token(kv_dtype(spec.dtype))
    if not token_bytes:
        raise UsageError(f"{spec.name} keeps nothing for a token, so no number of tokens fills a memory")
    parts = (part.strip() for part in text.split(","))
    return tuple(
        None if part in UNLIMITED else Capacity(parse_bytes(part), CapacityUnit.BYTES, token_bytes) for part in parts
    )


def _capacity(text: str, unit: CapacityUnit) -> Capacity | None:
    if text in UNLIMITED:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise UsageError(f"{text!r} is not a number of {unit}, nor 'inf'")
    return Capacity(int(text), unit)
