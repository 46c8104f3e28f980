"""The simulation as lines of text."""

from collections.abc import Iterator
from typing import Any


def table_lines(report: dict[str, Any], limit: int = 40) -> Iterator[str]:
    """Rows of the report, sums first, at most `limit` of them, then the quartiles over traces.

    Columns `tokens` and `blocks` are the block size and the capacity.
    """
    rows = report["results"]
    yield f"{'trace':<28} {'policy':<9} {'block':>6} {'capacity':>10} {'hit tokens':>15} {'of':>15} {'rate':>8}  definition"
    for row in rows[:limit]:
        capacity = "unlimited" if row["capacity_blocks"] is None else row["capacity_blocks"]
        yield (
            f"{row['trace'][:28]:<28} {row['policy']:<9} {row['block_size']:>6} {capacity:>10} {row['hit_tokens']:>15,} "
            f"{row['total_tokens']:>15,} {row['hit_rate']:>8.2%}  {row['definition']}"
        )
    if len(rows) > limit:
        yield f"… {len(rows) - limit} more rows are in the JSON"
    for row in report["summary"]:
        names = ("min", "p25", "median", "p75", "max", "mean")
        capacity = "unlimited" if row["capacity_blocks"] is None else row["capacity_blocks"]
        rates = "  ".join(f"{name} {row[name]:.1%}" for name in names)
        yield f"over {row['traces']} traces, {row['policy']} {capacity}, {row['block_size']} tokens a block, {row['definition']}: {rates}"
    yield from _memory_lines(report["memory"])
    yield f"window: {report['window']} requests; {report['evidence']}"


def _memory_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Of one trace, or of all together: which share of the memory holds tokens right after the prompts."""
    shown = [row for row in rows if row["trace"] == rows[0]["trace"]]
    for block_size in dict.fromkeys(row["block_size"] for row in shown):
        shares = (f"{row['layout']} {row['utilisation']:.1%}" for row in shown if row["block_size"] == block_size)
        yield f"memory in use with blocks of {block_size} tokens: {', '.join(shares)}"
