"""Replay recorded sessions through a paged KV cache: block pool, simulator, engine, server clients."""
