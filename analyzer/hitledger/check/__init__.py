"""What will this prompt change cost, before it is deployed: static stability, and recorded traffic re-simulated."""
