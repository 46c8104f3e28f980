"""The torch engine: token ids in, token ids out, on the same paged cache as the simulator."""
