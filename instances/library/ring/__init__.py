"""Worst cases found in family `ring`."""
