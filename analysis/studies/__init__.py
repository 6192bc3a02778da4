"""Worst cases, comparisons of formulations, and interactive explorers."""
