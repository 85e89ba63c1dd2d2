"""What shall happen in a run: one immutable, validated description, read from one TOML file."""
