"""What can go wrong with a server, by what is known of its cache afterwards."""

from hitledger_replay.errors import ReplayError


class ServerError(ReplayError):
    """The server refused a request, or did not answer."""


class ServerGoneError(ServerError):
    """The server cannot be reached any more."""


class ServerTimeoutError(ServerError):
    """The server did not answer in time; what it has computed of the prompt is not known."""


class ServerRefusedError(ServerError):
    """The server answered with another status than success."""
