"""Settings of all tests."""

from hypothesis import settings

# A deadline of wall time measures what else the machine does.
settings.register_profile("project", deadline=None)
settings.load_profile("project")
