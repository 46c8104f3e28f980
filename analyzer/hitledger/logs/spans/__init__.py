"""Spans of any exporter and instrumentation: containers give `Span`s, dialects say what a span is, `reading` makes calls.

The readers of spans share this source: what they share is the row, not the reading of it. A file belongs to the reader
of its first instrumentation; the spans of another one inside it are read in their own way, so that nothing is lost.
"""
