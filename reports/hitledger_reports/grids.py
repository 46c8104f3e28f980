"""The look of a table in a terminal: columns side by side, no lines, dim headings."""

from rich.table import Table


def plain_grid() -> Table:
    """A table without columns yet."""
    return Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
