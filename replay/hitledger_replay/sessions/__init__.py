"""Recorded sessions through the engine: from calls to token ids, to measurements, to JSON."""
