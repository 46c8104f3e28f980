"""Under which conditions a renderer is called: each run changes one thing that must not show in a prefix."""

from dataclasses import dataclass, field

REFERENCE_TIME = 1_768_478_400  # 2026-01-15 12:00:00 UTC; a fixed instant, so that results are the same at every run
MINUTE, MONTH = 61, 33 * 86_400 + 3 * 3_600 + 61
HASH_SEEDS = (1, 2, 3)  # a set of two comes in the same order under one more seed half of the time


@dataclass(frozen=True, slots=True)
class Condition:
    """One run: what differs from the reference, in words, and the values."""

    name: str
    time: int = REFERENCE_TIME
    zone: str = "UTC0"
    seed: int = 0  # of random
    hash_seed: int = 0
    elsewhere: bool = False  # in another working folder, with another git state
    environment: dict[str, str] = field(default_factory=dict)
    host: str = ""


OTHER_ENVIRONMENT = {
    "CI": "1",
    "COLUMNS": "91",
    "EDITOR": "ed",
    "HOSTNAME": "hitledger-check",
    "LANG": "C",
    "LINES": "31",
    "LOGNAME": "hitledger-check",
    "SHELL": "/bin/false",
    "TERM": "dumb",
    "USER": "hitledger-check",
    "USERNAME": "hitledger-check",
}

REFERENCE = Condition("reference")
CONDITIONS = (
    Condition("process"),  # nothing changed: what differs is random, counted or of the process
    Condition("clock (a minute later)", time=REFERENCE_TIME + MINUTE),
    Condition("clock (a month later)", time=REFERENCE_TIME + MONTH),
    Condition("time zone", zone="TST-9:30"),
    Condition("random seed", seed=1),
    *(Condition("hash seed", hash_seed=seed) for seed in HASH_SEEDS),
    Condition("working folder and git state", elsewhere=True),
    Condition("environment", environment=OTHER_ENVIRONMENT, host="hitledger-check"),
)
AGAIN = "second call"  # in the same process as the reference
