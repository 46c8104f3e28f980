"""The rule of a llama.cpp server, from the flags it was started with and from what it says of itself.

Without flags the server has four slots over one store (`--parallel -1`; llama.cpp build 11434, `tools/server/server.cpp`). Its
`/props` tell the number of slots only: four are taken for these, any other number for one that was asked for.
"""

import shlex
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from typing import NoReturn

from hitledger.errors import UsageError
from hitledger_replay.servers.client import ServerClient
from hitledger_replay.servers.errors import ServerError
from hitledger_replay.servers.slots import SlotRule

AUTOMATIC_SLOTS = 4
LONG_NAMES = {
    "-np": "--parallel",
    "-kvu": "--kv-unified",
    "-no-kvu": "--no-kv-unified",
    "-cram": "--cache-ram",
    "-sps": "--slot-prompt-similarity",
}
"""argparse takes a short name's beginning for the name (`-c` for `-cram`), even where it must not abbreviate."""
MAX_SLOTS = 1024


class _Flags(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"--server-flags: {message}")


def slot_rule(flags: str, client: ServerClient) -> SlotRule:
    """`flags` as on the server's command line; those that change nothing here are passed over. Raises UsageError."""
    given = _parsed(flags)
    automatic = given.parallel == -1
    slots = given.parallel or _stated_slots(client)
    if given.parallel is None and slots == AUTOMATIC_SLOTS:
        automatic = given.kv_unified is None
    return SlotRule(
        slots=AUTOMATIC_SLOTS if given.parallel == -1 else slots,
        unified=automatic or bool(given.kv_unified),
        host_memory=given.cache_ram != 0,
        copies_idle=given.cache_idle_slots,
        similarity=given.slot_prompt_similarity,
        chunk=given.cache_reuse,
    )


def _parsed(flags: str) -> Namespace:
    parser = _Flags(add_help=False, allow_abbrev=False)
    parser.add_argument("--parallel", type=int)
    parser.add_argument("--kv-unified", action=BooleanOptionalAction)
    parser.add_argument("--cache-ram", type=int, default=8192)
    parser.add_argument("--cache-idle-slots", action=BooleanOptionalAction, default=True)
    parser.add_argument("--slot-prompt-similarity", type=float, default=0.1)
    parser.add_argument("--cache-reuse", type=int, default=0)
    try:
        given, _ = parser.parse_known_args([LONG_NAMES.get(word, word) for word in shlex.split(flags)])
    except ValueError as error:
        raise UsageError(f"--server-flags: {error}") from error
    if given.parallel is not None and not (given.parallel == -1 or 0 < given.parallel <= MAX_SLOTS):
        raise UsageError(f"--server-flags: --parallel {given.parallel}: give -1 or 1 to {MAX_SLOTS}")
    if not 0 <= given.slot_prompt_similarity <= 1:
        raise UsageError(f"--server-flags: --slot-prompt-similarity {given.slot_prompt_similarity}: give 0 to 1")
    if given.cache_reuse < 0:
        raise UsageError(f"--server-flags: --cache-reuse {given.cache_reuse}: give 0 or more")
    return given


def _stated_slots(client: ServerClient) -> int:
    """1 where it says nothing, as a server for a single user is started."""
    try:
        stated = client.get_json("/props").get("total_slots")
    except ServerError:
        return 1
    return stated if type(stated) is int and 0 < stated <= MAX_SLOTS else 1
