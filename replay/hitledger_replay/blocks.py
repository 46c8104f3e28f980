"""How many blocks tokens take."""


def blocks_for(num_tokens: int, block_size: int) -> int:
    """Blocks that hold `num_tokens`: rounded up."""
    return -(-num_tokens // block_size)
