"""Settings of the test suite."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings

# Machines differ and are shared; hence tests have no deadlines, and `make bench` measures speed.
# The suite draws the same instances each time, so a change is judged by what it changes;
# `make nightly` draws new ones, for its sweeps and for the properties of the suite.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None)
settings.load_profile("suite")

# The suite starts hundreds of processes: without compiled modules, each compiles the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Starting a thread per core for linear algebra costs each new process 0.1 s of CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Processes started in the background of a shell ignore Ctrl-C, but some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST = (  # files with tests of more than five seconds, the longest first
    "test_bench", "test_notebooks", "test_own_programs", "test_adding_a_paper", "test_new_family",
    "test_adding_an_engine", "test_experiment_model", "test_types", "test_how_do_i_page",
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Draw new instances in `make nightly`."""
    if config.getoption("markexpr").startswith("nightly"):
        settings.load_profile("nightly")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage neither during the collection nor among the tests that it leaves behind."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deal the longest files to the workers, each of which begins with an equal part of the tests.

    A worker without tests takes some from the end of another's part.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    rest = [item for item in items if item.path.stem not in LONGEST]
    ordered: list[pytest.Item] = []
    for first in range(workers):
        files = LONGEST[first::workers]
        hand = [item for file in files for item in items if item.path.stem == file]
        size = max(0, (len(items) - len(ordered)) // (workers - first) - len(hand))
        ordered += hand + rest[:size]
        del rest[:size]
    items[:] = ordered + rest


@pytest.fixture(scope="session")
def kernel() -> Iterator[Any]:
    """The one kernel of a worker's notebooks: it loads libraries and starts engines once."""
    from jupyter_client.manager import KernelManager  # here: few workers run notebooks

    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)
