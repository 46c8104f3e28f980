"""A pytest plugin: assert that what renders a prompt keeps its prefix stable and stays within a budget."""
