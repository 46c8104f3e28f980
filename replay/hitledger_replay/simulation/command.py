"""`hitledger simulate`: options to a plan, traces to a report, a report to lines."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from hitledger.errors import UsageError
from hitledger_replay.simulation.definitions import Definition, Window
from hitledger_replay.simulation.plan import Plan, parse_block_sizes, parse_capacities, parse_policies
from hitledger_replay.simulation.report import all_definitions, simulate_report
from hitledger_replay.simulation.routing import Routing
from hitledger_replay.simulation.table import table_lines
from hitledger_replay.traces import read_traces

Choice = TypeVar("Choice", Window, Routing)


def run(
    traces: Sequence[str],
    block_size: str,
    capacities: tuple[str, str, str, str],
    policy: str,
    counting: tuple[str, bool, float],
    fleet: tuple[int, str, int, int],
) -> dict[str, Any]:
    """`capacities` are (blocks, tokens, bytes, model); `counting` (window, all definitions, lifetime in seconds);
    `fleet` (backends, routing, host blocks, disk blocks). Raises UsageError for options that make no sense.
    """
    window, everything, lifetime = counting
    backends, routing, host_blocks, disk_blocks = fleet
    plan = Plan(
        policies=parse_policies(policy),
        capacities=parse_capacities(*capacities),
        window=_choice(Window, window),
        definitions=all_definitions() if everything else (Definition.BLOCK_TOKENS,),
        lifetime_seconds=lifetime,
        backends=backends,
        routing=_choice(Routing, routing),
        host_blocks=host_blocks,
        disk_blocks=disk_blocks,
    )
    return simulate_report(read_traces(traces, parse_block_sizes(block_size)), plan)


def lines(report: dict[str, Any]) -> Iterator[str]:
    """What is printed."""
    return table_lines(report)


def _choice(kind: type[Choice], name: str) -> Choice:
    try:
        return kind(name)
    except ValueError as error:
        raise UsageError(f"{error}; known: {', '.join(kind)}") from error
