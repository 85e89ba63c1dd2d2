"""Short programs that show how the host package is used."""
