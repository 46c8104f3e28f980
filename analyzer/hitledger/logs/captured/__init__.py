"""What the readers of captured traffic share: an exchange with a model, however a capture spells it, as a call."""
