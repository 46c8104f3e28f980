"""Traces: sequences of prompts as block ids, read from the formats other projects publish and from our own audits."""
