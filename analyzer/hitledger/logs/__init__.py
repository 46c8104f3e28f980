"""Readers, one module a format: each turns rows of a log into calls."""
