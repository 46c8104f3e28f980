"""The tensors of the cache: one row of bytes a block, in which every layer has its place.

Row b holds, layer after layer, the keys and then the values of the block_size tokens of block b. So a block is copied,
offloaded, swapped or poisoned as one row, and the memory taken is exactly num_blocks rows. What a layer sees is a view
of shape (num_blocks, block_size, heads, dim).
"""

from collections.abc import Sequence

import torch

from hitledger_replay.engine.codec import Codec
from hitledger_replay.engine.shapes import LayerShape


class KVStore:
    """Keys and values of all blocks. Knows block ids and slots, not sequences."""

    def __init__(
        self, layers: Sequence[LayerShape], num_blocks: int, block_size: int, codec: Codec, device: torch.device
    ) -> None:
        """`num_blocks` counts the null block 0, as the pool does."""
        self.layers = tuple(layers)
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.codec = codec
        self.device = device
        row = block_size * sum(layer.elements for layer in self.layers)
        self.rows = torch.zeros(num_blocks, row, dtype=codec.storage, device=device)
        self._views: list[tuple[torch.Tensor, torch.Tensor]] = []
        offset = 0
        for layer in self.layers:
            key, offset = self._view(offset, layer.num_heads, layer.key_dim)
            value, offset = self._view(offset, layer.num_heads, layer.value_dim)
            self._views.append((key, value))

    @property
    def block_bytes(self) -> int:
        """Bytes of one block over all layers."""
        return self.rows.shape[1] * self.rows.element_size()

    def pages(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The stored keys and values of one layer, each (num_blocks, block_size, heads, dim)."""
        return self._views[layer]

    def write(
        self, layer: int, blocks: torch.Tensor, offsets: torch.Tensor, key: torch.Tensor, value: torch.Tensor
    ) -> None:
        """Put T tokens, each (heads, T, dim), into the slots (blocks[t], offsets[t])."""
        for part, values in enumerate((key, value)):
            page = self._views[layer][part]
            page[blocks, offsets] = self.codec.encode(layer, part, values.transpose(0, 1))

    def gather(self, layer: int, blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The tokens of `blocks` in that order, each (heads, len(blocks) * block_size, dim)."""
        key, value = (
            self.codec.decode(layer, part, page.index_select(0, blocks)).flatten(0, 1).transpose(0, 1)
            for part, page in enumerate(self._views[layer])
        )
        return key, value

    def copy_block(self, src: int, dst: int) -> None:
        """Copy a whole block, every layer."""
        self.rows[dst].copy_(self.rows[src])

    def poison(self, blocks: Sequence[int]) -> None:
        """Fill blocks with NaN (0xFF bytes, which is NaN in e4m3 too), so that a read before a write shows."""
        index = torch.tensor(blocks, dtype=torch.long, device=self.device)
        self.rows[index] = 0xFF if self.rows.dtype is torch.uint8 else float("nan")

    def _view(self, offset: int, heads: int, dim: int) -> tuple[torch.Tensor, int]:
        shape = (self.num_blocks, self.block_size, heads, dim)
        stride = (self.rows.shape[1], heads * dim, dim, 1)
        return self.rows.as_strided(shape, stride, offset), offset + self.block_size * heads * dim
