"""Settings of the test suite."""

import signal

import pytest
from hypothesis import settings

# Machines differ and are shared; hence tests have no deadlines, and `make bench` measures speed.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

# Processes started in the background of a shell ignore Ctrl-C, but some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the notebooks first: they take longest, and the workers then share the rest evenly."""
    items.sort(key=lambda item: "test_notebooks" not in item.nodeid)
