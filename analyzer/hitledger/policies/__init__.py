"""Cache rules of providers and engines: dated TOML and one small simulator an algorithm."""
