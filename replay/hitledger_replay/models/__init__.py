"""Models to replay with: random tiny ones, folders, GGUF files, hub ids, and one that a package carries."""
