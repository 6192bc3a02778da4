"""Readers of public traces, one for each format."""
