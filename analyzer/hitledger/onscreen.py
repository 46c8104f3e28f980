"""Text of a log on a terminal: nothing in it may move the cursor."""


def printable(text: str) -> str:
    """`text` with a question mark for each character that is not printable."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def escaped(text: str) -> str:
    """`text` with an escape for each character that is not printable, where it still has to say which file or trace."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def short_name(text: str, width: int) -> str:
    """Exactly `width` columns. A longer name loses its middle: ids that are made in a row begin alike."""
    name = printable(text)
    if len(name) > width:
        head = (width - 1) // 2
        name = f"{name[:head]}…{name[head + 1 - width :]}"
    return f"{name:{width}}"
