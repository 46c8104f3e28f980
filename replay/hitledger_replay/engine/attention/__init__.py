"""Attention over the paged store: one protocol, a reference, a fast path for CPUs and one for CUDA."""
