"""How much two texts have in common, wherever in them it stands."""


def similarity(old: str, new: str) -> float:
    """Share of lines that the two texts have in common, 0 to 1; of words where there is but one line."""
    left, right = _parts(old), _parts(new)
    return len(left & right) / max(1, max(len(left), len(right)))


def _parts(text: str) -> set[str]:
    lines = {line.strip() for line in text.splitlines() if line.strip()}
    return lines if len(lines) > 1 else set(text.split())
