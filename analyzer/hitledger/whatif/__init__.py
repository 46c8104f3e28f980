"""The same calls under another rule, both sides simulated."""
