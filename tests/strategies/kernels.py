"""Kernels in tests."""

from typing import Any

from schedgap.solvers.search.compiled import Kernel


def compiled_entry(kernel: Kernel) -> Any:
    """Return the compiled entry of a kernel, called with its sample.

    Compiling takes 7 to 30 s, once on each machine and version.
    """
    kernel.compile()
    assert kernel.is_ready
    run: Any = kernel.fast
    run(*kernel.sample())
    return run


def compiled_types(entry: Any) -> int:
    """Return for how many types of arguments an entry is compiled; 1 with NUMBA_DISABLE_JIT=1.

    After `compiled_entry` it is 1 as long as all arguments have the types of the sample. Others are
    compiled in silence, in each process again.
    """
    return len(getattr(entry, "signatures", [entry]))
