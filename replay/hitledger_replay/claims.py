"""Put a number somebody states about a cache beside the number that follows from the model."""

import re
from dataclasses import dataclass

from hitledger.errors import UsageError

UNITS = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
BINARY = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
TOLERANCE = 0.1
SMALL = 10**8
"""Below this two digits of GB say too little."""


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """`ratio` is claimed / computed, by the nearer reading of the unit (GB as 10^9 or as 2^30)."""

    claimed: str
    computed_bytes: int
    ratio: float

    @property
    def holds(self) -> bool:
        """Whether the claim is within a tenth of what was computed: such claims are rounded."""
        return abs(self.ratio - 1) <= TOLERANCE

    def describe(self) -> str:
        """One line for a report."""
        right = f"{self.computed_bytes / 2**30:.2f} GiB ({self.computed_bytes / 10**9:.2f} GB)"
        if self.computed_bytes < SMALL:
            right = f"{self.computed_bytes:,} bytes"
        verdict = "holds" if self.holds else f"is off by {self.ratio:.2f}x"
        return f"claim {self.claimed}: computed {right}; the claim {verdict}"


def check_claim(claimed: str, computed_bytes: int) -> ClaimCheck:
    """Compare a size such as "2.5 GB" with `computed_bytes`. Raises UsageError if the text is no size."""
    number, unit = _split(claimed)
    if computed_bytes <= 0:
        raise UsageError("there is nothing to compare a claim with: the computed size is 0")
    readings = {UNITS[unit], BINARY.get(unit, UNITS[unit])}
    ratios = (number * size / computed_bytes for size in readings)
    return ClaimCheck(claimed.strip(), computed_bytes, min(ratios, key=lambda ratio: abs(ratio - 1)))


def parse_bytes(text: str) -> int:
    """A size in bytes, read literally: "80 GB" is 80 * 10^9, "80 GiB" 80 * 2^30. Raises UsageError."""
    number, unit = _split(text)
    return int(number * UNITS[unit])


def _split(text: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT]i?B|B)\s*", text, re.IGNORECASE)
    if match is None:
        raise UsageError(f"{text!r} is not a size like '2.5 GB' or '128 KiB'")
    return float(match[1]), match[2].upper()
