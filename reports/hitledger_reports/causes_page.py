"""docs/causes.md from the catalogue: `hitledger explain --markdown`."""

from hitledger.causes.catalogue import Cause, catalogue

HEAD = """# Causes
One section a cause. This page is written by `hitledger explain --markdown`; `hitledger explain CODE` prints one entry.
*Found in* says where a cause shows: in a **log** (requests, parameters, times, usage), only with an **engine**'s own
figures, or not at all by itself (**named**, listed so that it can be looked up).
"""


def render() -> str:
    """The whole page."""
    return HEAD + "".join(map(_section, catalogue().values()))


def _section(cause: Cause) -> str:
    return (
        f"\n## {cause.code}\n{cause.what}\n\n"
        f"- Recognised by: {cause.seen}\n- Fix: {cause.fix}\n- Found in: {cause.detected}\n"
    )
