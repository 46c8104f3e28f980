"""By what figures are added up. Alone in its module, so that the command line starts without the results."""

from enum import StrEnum


class By(StrEnum):
    """What the figures are added up by."""

    CAUSE = "cause"
    DAY = "day"
    MODEL = "model"
    SESSION = "session"
    PROJECT = "project"
    AGENT = "agent"
