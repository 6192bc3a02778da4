"""Worst cases found in family `dmlrs`."""
