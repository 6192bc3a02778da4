"""Settings of the whole suite."""

import signal

import pytest
from hypothesis import settings

# Machines differ and are shared: what is slow is measured by `make bench`, not by a test's clock.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

# What a shell starts in the background ignores Ctrl-C, and so do its children: tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the notebooks, the longest tests: workers share what is left evenly."""
    items.sort(key=lambda item: "test_notebooks" not in item.nodeid)
