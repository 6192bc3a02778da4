"""A plugin of coverage: a child process saves what it has seen while it runs.

Children end by being killed: at their limits, and on Linux when their parent goes. What coverage
saves at the end of a process is never saved there.
"""

import os
import threading
import time

import coverage
from coverage.plugin_support import Plugins


def coverage_init(registry: Plugins, options: dict[str, str]) -> None:
    """Called by coverage in every process that it measures."""
    if "SCHEDGAP_CHILD_DEPTH" in os.environ:
        threading.Thread(target=_save, daemon=True).start()


def _save() -> None:
    while True:
        time.sleep(0.5)
        current = coverage.Coverage.current()
        if current is not None:
            current.save()
