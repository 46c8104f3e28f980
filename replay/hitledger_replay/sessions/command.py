"""What the command `replay` does, without its option parsing."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hitledger.audit import with_unique_ids
from hitledger.errors import UsageError
from hitledger.logs.read import read_logs
from hitledger.measurement import SERVER_MODE, Measurement, to_json
from hitledger.reconcile import reconcile, reconciliation_lines
from hitledger.results import Audit, load
from hitledger.stages import Progress
from hitledger.types import Call
from hitledger_replay.errors import ReplayError
from hitledger_replay.servers.client import SERVER_SECONDS, ServerClient
from hitledger_replay.servers.replay import PartialReplayError, ServerOptions, replay_on_server
from hitledger_replay.servers.rules import AUTO, DEFAULT_BLOCK_SIZE
from hitledger_replay.servers.tokenizer import ServerTokenizer
from hitledger_replay.sessions.lines import measurement_lines
from hitledger_replay.sessions.options import ReplayOptions, choose_mode, parse_render, parse_scale
from hitledger_replay.sessions.provider_policy import parse_policy
from hitledger_replay.sessions.render import Target

SERVER_VOCABULARY = 32_000
"""Stand-ins for a server are ids below this: every common vocabulary is larger."""


def read_calls(inputs: Sequence[str], format: str | None) -> tuple[Call, ...]:
    """The calls of the logs, each with an id of its own. Raises NothingToReadError."""
    return tuple(with_unique_ids(read_logs(inputs, format=format).calls()))


def replay_options(
    mode: str | None,
    model: str | None,
    *,
    device: str | None,
    attention: str | None,
    kv_dtype: str | None,
    block_size: int | None,
    policy: str | None,
    scale: str,
    runs: int | None,
    render: str,
    allow_network: bool,
    json: Path | None,
    events: Path | None,
    metrics: Path | None,
) -> ReplayOptions:
    """From the command line, by its names; None: not given. Raises UsageError."""
    chosen, name = choose_mode(mode, model)
    return ReplayOptions(
        mode=chosen,
        model=name,
        device=device or "auto",
        attention=attention or "auto",
        kv_dtype=kv_dtype or "model",
        block_size=DEFAULT_BLOCK_SIZE if block_size is None else block_size,
        policy=None if policy is None else parse_policy(policy),
        scale=parse_scale(scale),
        runs=runs,
        render=parse_render(render),
        allow_network=allow_network,
        checkpoint=checkpoint_path(json) if json else None,
        events=events,
        metrics=metrics,
    )


def server_options(
    engine: str | None, block_size: int | None, render: str, scale: str, flags: str | None
) -> ServerOptions:
    """From the command line; None: not given. Raises UsageError."""
    factor = parse_scale(scale)
    if factor is None:
        raise UsageError("--scale auto: a server's context is not known; give a factor")
    return ServerOptions(engine or AUTO, block_size, parse_render(render), factor, flags or "")


def client(url: str, model: str | None, timeout: float | None) -> ServerClient:
    """The key of a server that wants one is read from HITLEDGER_API_KEY. Raises UsageError."""
    seconds = SERVER_SECONDS if timeout is None else timeout
    return ServerClient(url, model, os.environ.get("HITLEDGER_API_KEY"), seconds)


def replay_there(
    calls: Sequence[Call], client: ServerClient, options: ServerOptions, json: Path | None, progress: Progress | None
) -> Measurement:
    """On a server. Raises ReplayError; when the server is gone, what was finished is in `json` first."""
    target = Target(ServerTokenizer(client), SERVER_VOCABULARY, None, {})
    try:
        return replay_on_server(calls, client, target, options, progress)
    except PartialReplayError as error:
        if json is None:
            raise ReplayError(f"{error}; give --json FILE to keep them") from error
        json.write_bytes(to_json(error.measurement))
        raise ReplayError(f"{error} and kept in {json}") from error


def conclude(found: Measurement, json: Path | None, audit: Audit | None, every_call: bool) -> Iterator[str]:
    """Write, print, reconcile.

    Raises UnreconciledError if expected and measured differ, ReplayError if a server measured no call at all.
    """
    if json is not None:
        json.write_bytes(to_json(found))
        checkpoint_path(json).unlink(missing_ok=True)  # only now would nothing be lost with it
    yield from measurement_lines(found, every_call)
    joined = reconcile(found, audit)
    if audit is not None:
        yield from reconciliation_lines(joined)
    joined.require_equal()
    if found.mode == SERVER_MODE and not found.calls:
        raise ReplayError(f"none of {len(found.unreplayed)} calls was measured; the reasons are above")


def checkpoint_path(json: Path) -> Path:
    """Where finished calls are kept while a replay runs: beside the result."""
    return json.with_name(json.name + ".partial")


def read_audit(path: str | None) -> Audit | None:
    """The audit to reconcile with, read before anything is replayed. Raises NothingToReadError."""
    return load(path) if path else None


def require_places(files: Mapping[str, Path | None]) -> None:
    """`files` by option. Raises UsageError, before anything is replayed, for one that can never be written."""
    taken: dict[Path, str] = {}
    for option, path in files.items():
        if path is not None and taken.setdefault(path.absolute(), option) != option:
            raise UsageError(f"{option} {path}: {taken[path.absolute()]} is written there; give another file")
        if path is not None and path.is_dir():
            raise UsageError(f"{option} {path}: this is a folder; give a file")
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"{option} {path}: its folder does not exist")


def require_fitting(own: Mapping[str, object], server: Mapping[str, object], url: str | None) -> None:
    """`own` and `server`: values, by option, that only our engine or only a server knows; None: not given.

    Raises UsageError if an option was given that would do nothing.
    """
    given = [option for option, value in (server if url is None else own).items() if value not in (None, False)]
    if given and url is None:
        raise UsageError(f"{', '.join(given)}: only with --url, for a server")
    if given:
        raise UsageError(f"{', '.join(given)}: not with --url, which runs the server's own engine")
