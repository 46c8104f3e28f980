"""The line of a prompt file on which a value stands."""

import re
from json import JSONDecoder

from hitledger.check.material import Material, MaterialKind

STEP = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")
SPACE = re.compile(r"[\s,:]*")
_DECODER = JSONDecoder(strict=False)


def line_of(material: Material, path: str, offset: int = 0) -> int:
    """From 1. Where the place cannot be found it is the line of the nearest value around it."""
    if not material.source:
        return material.line
    if material.kind is MaterialKind.SYSTEM:
        return 1 + material.source.count("\n", 0, offset)
    start = position_of(material.source, path)
    return 1 + material.source.count("\n", 0, start)


def position_of(source: str, path: str) -> int:
    """Offset of the value at a path (`tools[2].name`) in JSON text; of the nearest one around it where it is gone.

    A file that is a list itself counts as the `tools` of a request.
    """
    steps = [int(number) if number else key for number, key in STEP.findall(path)]
    position = SPACE.match(source, 0).end()  # type: ignore[union-attr]
    if source[position : position + 1] == "[" and steps[:1] == ["tools"]:
        steps = steps[1:]
    for step in steps:
        inside = _child(source, position, step)
        if inside is None:
            break
        position = inside
    return position


def _child(source: str, position: int, step: int | str) -> int | None:
    opener = source[position : position + 1]
    if opener not in ("{", "["):
        return None
    at = _skip(source, position + 1)
    index = 0
    while at < len(source) and source[at] not in "}]":
        key: object = index
        if opener == "{":
            key, at = _DECODER.raw_decode(source, at)
            at = _skip(source, at)
        if key == step:
            return at
        _, at = _DECODER.raw_decode(source, at)
        at = _skip(source, at)
        index += 1
    return None


def _skip(source: str, position: int) -> int:
    match = SPACE.match(source, position)
    return match.end() if match else position
