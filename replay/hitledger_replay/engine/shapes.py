"""The shape of what one token leaves in one layer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one token leaves in one layer: `num_heads` x `key_dim` and `num_heads` x `value_dim` elements."""

    num_heads: int
    key_dim: int
    value_dim: int

    @property
    def elements(self) -> int:
        """Elements of one token."""
        return self.num_heads * (self.key_dim + self.value_dim)
