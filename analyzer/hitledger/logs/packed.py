"""gzip and zstd streams as plain bytes: no bomb is unpacked to its end, and a stream that was cut is never a whole one."""

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import IO, Any

import zstandard

MAX_EXPANSION = 200  # times the size on disk; logs reach some tens
FREE_EXPANSION = 256 * 2**20  # bytes that any compressed file may unpack to
BUFFER_BYTES = 256 * 2**10
ZSTD_INPUT_BYTES = 4 * 2**10  # a block of 4 bytes can unpack to 128 KiB, so a piece to 128 MiB
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
DAMAGE = (OSError, EOFError, zlib.error, zstandard.ZstdError)  # what a stream raises half way


def unpacked(raw: IO[bytes]) -> IO[bytes]:
    """The stream itself, or what it unpacks to where its first bytes say gzip or zstd. Reading raises DAMAGE."""
    magic = raw.read(4)
    size = raw.seek(0, io.SEEK_END)
    raw.seek(0)
    if magic.startswith(GZIP):
        return io.BufferedReader(_Pieces(raw, _gzip_pieces(raw), size), BUFFER_BYTES)
    if magic == ZSTD:
        return io.BufferedReader(_Pieces(raw, _zstd_pieces(raw), size), BUFFER_BYTES)
    return raw


def is_packed(magic: bytes) -> bool:
    """Whether a file that starts so is compressed."""
    return magic.startswith((GZIP, ZSTD))


def _gzip_pieces(raw: IO[bytes]) -> Iterator[bytes]:
    stream = gzip.GzipFile(fileobj=raw)
    while piece := stream.read1(BUFFER_BYTES):
        yield piece


def _zstd_pieces(raw: IO[bytes]) -> Iterator[bytes]:
    """Frame by frame. The library's own stream reader ends without a word where a file was cut."""
    frame = zstandard.ZstdDecompressor().decompressobj()
    begun = False
    while packed := raw.read(ZSTD_INPUT_BYTES):
        while packed:
            begun = True
            if piece := frame.decompress(packed):
                yield piece
            packed = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame, begun = zstandard.ZstdDecompressor().decompressobj(), False
    if begun:
        raise EOFError("the file ends inside a zstd frame")


class _Pieces(io.RawIOBase):
    """Pieces as a stream that ends with an error where they grow far larger than any log does."""

    def __init__(self, raw: IO[bytes], pieces: Iterator[bytes], packed_bytes: int) -> None:
        self._raw = raw
        self._pieces = pieces
        self._left = max(FREE_EXPANSION, MAX_EXPANSION * packed_bytes)
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the rest of a piece, or with the head of the next one."""
        if not self._piece:
            self._piece = memoryview(next(self._pieces, b""))
            self._left -= len(self._piece)
            if self._left < 0:
                raise EOFError(f"unpacks to more than {MAX_EXPANSION} times its size; if it is a log, unpack it first")
        taken = min(len(buffer), len(self._piece))
        buffer[:taken] = self._piece[:taken]
        self._piece = self._piece[taken:]
        return taken

    def close(self) -> None:
        """Close the packed stream too."""
        self._raw.close()
        super().close()
