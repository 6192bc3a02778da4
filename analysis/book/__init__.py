"""The record book: what enters it, its check, and its tables."""
