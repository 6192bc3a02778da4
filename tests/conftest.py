"""Settings of the whole suite."""

from hypothesis import settings

# Machines differ and are shared: what is slow is measured by `make bench`, not by a test's clock.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")
