"""A GGUF file: its metadata, and its tensors as torch tensors. Format: ggml-org/ggml, docs/gguf.md, version 3 and 2.

Read here because the general reader takes seconds where this takes a fraction of one: strings are cut from a memory
map, and dequantization (gguf.quants) is the only other work. All offsets are checked, so a cut file is a clear error.
"""

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy
import torch
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize

from hitledger_replay.errors import ReplayError

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
ALIGNMENT = 32
MAX_ENTRIES = 1 << 20
MAX_DIMENSIONS = 4


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Shape as torch has it (slowest dimension first); `offset` counts from the start of the data."""

    shape: tuple[int, ...]
    kind: GGMLQuantizationType
    offset: int


class _Cursor:
    """Reads forward; every read is checked against the end of the file."""

    def __init__(self, content: memoryview, name: str) -> None:
        self._content = content
        self._name = name
        self.position = 0

    def take(self, size: int) -> memoryview:
        if size < 0 or self.position + size > len(self._content):
            raise ReplayError(f"{self._name}: the file ends inside its header; it is truncated or no GGUF file")
        self.position += size
        return self._content[self.position - size : self.position]

    def scalar(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def count(self) -> int:
        number = int(self.scalar("Q"))
        if number > MAX_ENTRIES:
            raise ReplayError(f"{self._name}: a header with {number} entries is damaged")
        return number

    def string(self) -> str:
        return bytes(self.take(self.scalar("Q"))).decode(errors="replace")

    def value(self, kind: int, nested: bool = False) -> Any:
        if kind == STRING:
            return self.string()
        if kind == ARRAY and not nested:
            inner, count = self.scalar("I"), self.count()
            if inner in SCALARS:
                code = f"{count}{SCALARS[inner]}"
                return list(struct.unpack("<" + code, self.take(struct.calcsize("<" + code))))
            return [self.value(inner, nested=True) for _ in range(count)]
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        raise ReplayError(f"{self._name}: metadata of the unknown type {kind}; the file is damaged or too new")


class GgufFile:
    """Metadata is read at once, a tensor when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Raises ReplayError for a file that is missing, no GGUF, of another version, or truncated."""
        self.name = path.name
        try:
            with path.open("rb") as file:
                self._content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            raise ReplayError(
                f"{path}: cannot be read as a model file: {getattr(error, 'strerror', None) or error}"
            ) from error
        cursor = _Cursor(self._content, self.name)
        if bytes(cursor.take(4)) != b"GGUF":
            raise ReplayError(f"{self.name}: not a GGUF file")
        version = cursor.scalar("I")
        if version not in (2, 3):
            raise ReplayError(f"{self.name}: GGUF version {version}; versions 2 and 3 are read")
        num_tensors, num_fields = cursor.count(), cursor.count()
        self.metadata: dict[str, Any] = {}
        for _ in range(num_fields):
            key = cursor.string()
            self.metadata[key] = cursor.value(cursor.scalar("I"))
        self.tensors = dict(self._entry(cursor) for _ in range(num_tensors))
        alignment = int(self.metadata.get("general.alignment", ALIGNMENT)) or ALIGNMENT
        self._data = -(-cursor.position // alignment) * alignment

    def tensor(self, name: str, dtype: torch.dtype) -> torch.Tensor:
        """One tensor, dequantized. Raises ReplayError if it is absent or runs past the end of the file."""
        entry = self.tensors.get(name)
        if entry is None:
            raise ReplayError(f"{self.name}: tensor {name} is missing")
        block, size = GGML_QUANT_SIZES[entry.kind]
        count = prod(entry.shape)
        if not count or entry.shape[-1] % block:
            raise ReplayError(f"{self.name}: tensor {name} has the impossible shape {entry.shape}")
        start = self._data + entry.offset
        raw = numpy.frombuffer(self._content[start : start + count // block * size], dtype=numpy.uint8)
        if raw.nbytes != count // block * size:
            raise ReplayError(f"{self.name}: tensor {name} runs past the end of the file; download the model again")
        values = dequantize(raw.reshape(*entry.shape[:-1], -1), entry.kind)
        return torch.from_numpy(numpy.require(values, numpy.float32, ["C", "W"])).reshape(entry.shape).to(dtype)

    def _entry(self, cursor: _Cursor) -> tuple[str, TensorEntry]:
        name, dimensions = cursor.string(), cursor.scalar("I")
        if not 0 < dimensions <= MAX_DIMENSIONS:
            raise ReplayError(f"{self.name}: tensor {name!r} has {dimensions} dimensions; the file is damaged")
        shape = tuple(cursor.scalar("Q") for _ in range(dimensions))
        kind, offset = cursor.scalar("I"), cursor.scalar("Q")
        try:
            return name, TensorEntry(shape[::-1], GGMLQuantizationType(kind), offset)
        except ValueError as error:
            raise ReplayError(f"{self.name}: tensor {name} has the unknown type {kind}; update gguf") from error
