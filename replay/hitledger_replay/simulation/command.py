"""`hitledger simulate`: options to a plan, and traces to a report."""

from collections.abc import Sequence
from typing import Any, TypeVar

from hitledger.errors import UsageError
from hitledger_replay.simulation.definitions import Definition, Window
from hitledger_replay.simulation.plan import Plan, parse_block_sizes, parse_capacities, parse_policies
from hitledger_replay.simulation.report import simulate_report
from hitledger_replay.simulation.routing import Routing
from hitledger_replay.traces import read_traces

Choice = TypeVar("Choice", Window, Routing)


def run(
    traces: Sequence[str],
    *,
    block_size: str,
    capacity_blocks: str,
    capacity_tokens: str,
    capacity_bytes: str,
    model: str,
    policy: str,
    window: str,
    all_definitions: bool,
    lifetime: float,
    backends: int,
    routing: str,
    host_blocks: int,
    disk_blocks: int,
) -> dict[str, Any]:
    """Simulate under the options of the command line, by their names. Raises UsageError for those that make no sense."""
    plan = Plan(
        policies=parse_policies(policy),
        capacities=parse_capacities(capacity_blocks, capacity_tokens, capacity_bytes, model),
        window=_choice(Window, window),
        definitions=tuple(Definition) if all_definitions else (Definition.BLOCK_TOKENS,),
        lifetime_seconds=lifetime,
        backends=backends,
        routing=_choice(Routing, routing),
        host_blocks=host_blocks,
        disk_blocks=disk_blocks,
    )
    return simulate_report(read_traces(traces, parse_block_sizes(block_size)), plan)


def _choice(kind: type[Choice], name: str) -> Choice:
    try:
        return kind(name)
    except ValueError as error:
        raise UsageError(f"{error}; known: {', '.join(kind)}") from error
