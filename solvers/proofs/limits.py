"""Limits of time and memory for the check of proofs and certificates, whoever wrote them."""

from typing import Any

from schedgap.errors import one_line
from schedgap.solvers.proofs.checker import LONGEST

SECONDS, MEMORY_MB = 600.0, 4096.0


def limited(function: str, *args: Any, seconds: float, memory_mb: float) -> Any:
    """Return what a function returns in a child process, or a text why it did not within limits.

    `function`: "package.module:function"; called with a function that sends messages, and the
    arguments. `seconds`, `memory_mb`: limits of time, and of memory in MB; beyond them the process
    is killed.

    Raises
    ------
    SchedgapError
        As raised by the function.
    """
    from schedgap.solvers.children.processes import run_child  # not needed where proofs are found

    reply = run_child(function, *args, limit=max(0.0, seconds), memory_mb=memory_mb)
    if isinstance(reply.error, Exception):
        raise reply.error
    if reply.outcome == "timeout":
        return f"not checked within {seconds:g} seconds"
    if reply.outcome == "memory":
        return f"not checked within {memory_mb:g} MB of memory"
    if reply.outcome != "done":
        return one_line(f"the check failed: {str(reply.error).strip().splitlines()[-1][:LONGEST]}")
    return reply.value
