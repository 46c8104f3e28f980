"""Replay a trace through a cache and count what would have been reused. No tensors, no clock of its own."""
