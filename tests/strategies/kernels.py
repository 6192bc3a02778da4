"""Kernels in tests."""

from typing import Any


def compiled_types(entry: Any) -> int:
    """Return for how many types of arguments an entry is compiled; 1 with NUMBA_DISABLE_JIT=1."""
    return len(getattr(entry, "signatures", [entry]))
