"""All leaves in which two JSON values differ, with their paths: what `prefix` says of the first, said of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that differs. `moved`: the same keys or elements in another order."""

    path: str
    before: str
    after: str
    moved: bool = False


def differing_leaves(old: Any, new: Any, path: str) -> Iterator[Leaf]:
    """In the order of the old value."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _of_objects(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(old, new, path)
    elif _text(old) != _text(new):
        yield Leaf(path, _shown(old), _shown(new))


def _of_objects(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Leaf]:
    if old.keys() == new.keys() and list(old) != list(new):
        yield Leaf(path, ", ".join(old), ", ".join(new), moved=True)
    for key, value in old.items():
        if key in new:
            yield from differing_leaves(value, new[key], f"{path}.{key}")
        else:
            yield Leaf(f"{path}.{key}", _shown(value), "")
    for key, value in new.items():
        if key not in old:
            yield Leaf(f"{path}.{key}", "", _shown(value))


def _of_lists(old: list[Any], new: list[Any], path: str) -> Iterator[Leaf]:
    if old != new and sorted(map(_text, old)) == sorted(map(_text, new)):
        yield Leaf(path, _shown(old), _shown(new), moved=True)
        return
    for index in range(max(len(old), len(new))):
        place = f"{path}[{index}]"
        if index >= len(new):
            yield Leaf(place, _shown(old[index]), "")
        elif index >= len(old):
            yield Leaf(place, "", _shown(new[index]))
        else:
            yield from differing_leaves(old[index], new[index], place)


def _text(value: Any) -> bytes:
    return orjson.dumps(value)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
