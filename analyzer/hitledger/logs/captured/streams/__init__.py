"""Event streams of each API, folded into one response body: one small module an API."""
