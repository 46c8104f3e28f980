"""Turn results into terminal, HTML, Markdown and machine-readable reports; the command line."""
