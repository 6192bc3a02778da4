"""Settings of the test suite."""

import signal

import pytest
from hypothesis import settings

# Machines differ and are shared; hence tests have no deadlines, and `make bench` measures speed.
# The suite draws the same instances each time, so that a change is judged by what it changes;
# `make nightly` draws new ones, for its sweeps and for the properties of the suite.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None)
settings.load_profile("suite")

# Processes started in the background of a shell ignore Ctrl-C, but some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Draw new instances in `make nightly`."""
    if config.getoption("markexpr").startswith("nightly"):
        settings.load_profile("nightly")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the notebooks first: they take longest, and the workers then share the rest evenly."""
    items.sort(key=lambda item: "test_notebooks" not in item.nodeid)
