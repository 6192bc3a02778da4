"""Worst cases found in family `edge`."""
