"""Every error the user can meet. One base with an exit code; the command line catches it in one place."""

OVER_A_LIMIT = 4  # the exit code where nothing failed, and more was found than the user's limit allows


class HitledgerError(Exception):
    """Something failed. The message names file, line and what to do."""

    exit_code = 1


class UsageError(HitledgerError):
    """The command was called with arguments that make no sense together."""

    exit_code = 2


class NothingToReadError(HitledgerError):
    """No input was given that holds a call: missing, unreadable, empty or of an unknown format."""

    exit_code = 3
