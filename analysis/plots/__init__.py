"""Charts, from plain data."""
