"""What one call's tokens cost: the answer of the price book, and its refusal."""

from datetime import date, datetime
from decimal import Decimal

from msgspec import Struct

from hitledger.errors import HitledgerError

DEFAULT_LIFETIMES = frozenset({"", "5m", "30m"})  # the cheapest lifetime a provider has, whose price has no name


class UnknownPrice(HitledgerError):
    """No price is known. The call stays unpriced: it never gets a default price, nor zero."""

    def __init__(self, model: str, provider: str, reason: str) -> None:
        super().__init__(
            f"no price for {model or 'a call without a model'} ({provider or 'unknown provider'}): {reason}"
        )
        self.model = model
        self.provider = provider
        self.reason = reason


class PriceKey(Struct, frozen=True):
    """All that decides the price of a call. `tier` as in `Call.tier`; `prompt_tokens` is the whole prompt."""

    model: str
    provider: str
    at: datetime  # UTC
    tier: str = ""
    prompt_tokens: int = 0


class WriteRate(Struct, frozen=True):
    """USD per token written with one lifetime; "" is the default lifetime, whose price lists give no name."""

    lifetime: str
    rate: Decimal
    note: str = ""  # what a reader should know where a call has such writes


class Rates(Struct, frozen=True):
    """USD per token of one model at one time, for one tier and one length of prompt."""

    provider: str
    model: str  # as the price list names it
    input: Decimal
    cache_read: Decimal
    cache_writes: tuple[WriteRate, ...]
    output: Decimal | None  # None: no price for generated tokens is listed
    source: str
    valid_from: date | None  # first day of the newest price that counts; None: since the model exists
    tier: str = ""
    above: int = 0  # prompt tokens above which these rates hold
    notes: tuple[str, ...] = ()

    def write(self, lifetime: str) -> WriteRate | None:
        """The rate of writes with this lifetime, None where it has no price. The default one goes by any short name."""
        default: WriteRate | None = None
        for write in self.cache_writes:
            if write.lifetime == lifetime:
                return write
            if write.lifetime in DEFAULT_LIFETIMES:
                default = write
        return default if lifetime in DEFAULT_LIFETIMES else None
