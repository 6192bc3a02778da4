"""Worst cases found in family `elastic`."""
