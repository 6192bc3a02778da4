"""Plugin for coverage: child processes save their data while they run.

Child processes are killed, at their limits or with their parent, so coverage cannot save its
data at the end of the process.
"""

import os
import threading
import time

import coverage
from coverage.plugin_support import Plugins


def coverage_init(registry: Plugins, options: dict[str, str]) -> None:
    """Start saving in child processes; coverage calls this in every process that it measures."""
    if "SCHEDGAP_CHILD_DEPTH" in os.environ:
        threading.Thread(target=_save, daemon=True).start()


def _save() -> None:
    while True:
        time.sleep(0.5)
        current = coverage.Coverage.current()
        if current is not None:
            current.save()
