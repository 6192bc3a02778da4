"""Worst cases found in family `hare`."""
