"""A row with everything that it holds, for the few that are looked at again."""

import json
from typing import Any

from hitledger.logs.files import row_value


def whole_row(line: bytes) -> Any:
    """The row on one line. Raises ValueError where there is none.

    A number beyond what a float holds was passed over at first, and is now what Python makes of it.
    """
    try:
        return row_value(line)
    except ValueError:
        return json.loads(line)
