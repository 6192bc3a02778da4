"""Settings of the whole suite."""

import signal

from hypothesis import settings

# Machines differ and are shared: what is slow is measured by `make bench`, not by a test's clock.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

# What a shell starts in the background ignores Ctrl-C, and so do its children: tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
