"""Readers, one module a format: each turns rows of a log into calls.

A reader module has
    FORMAT: str                                          the name `--format` takes
    sniff(file: LogFile) -> bool                         by content, never by the name alone; cheap; never raises
    read(files: tuple[LogFile, ...], ingest: Ingest) -> Iterator[Call]
`read` gets all files of its format at once, in input order, so that what is copied between files counts once.
"""
