"""The time that a method has left, with limits so long or so short that no machine is too slow."""

import math
import pickle
import time

import pytest

from schedgap.solvers.children import clock as clocks
from schedgap.solvers.children.clock import Clock


def test_without_a_limit_nothing_is_spent() -> None:
    clock = Clock()
    assert clock.spent() == 0 and math.isinf(clock.remaining()) and not clock.expired()


def test_the_part_that_is_spent_goes_from_0_to_1() -> None:
    assert Clock(0.0).spent() == 1
    half = Clock(1e6, start=time.monotonic() - 5e5)
    assert 0.5 <= half.spent() < 0.6
    assert Clock(1.0, start=time.monotonic() - 5).spent() == 1


def test_a_share_starts_anew() -> None:
    clock = Clock(1e6, start=time.monotonic() - 5e5)
    assert clock.share(0.5).spent() < 0.1
    assert clock.share(0.5, most=3.0).limit == 3.0
    assert Clock().share(0.5).limit is None


def test_a_clock_goes_on_in_a_process_whose_clocks_stood_still_for_another_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clocks, "_stopped", 7e5)
    sent = Clock(1e6, start=clocks.now() - 2e5)
    data = pickle.dumps(sent)
    monkeypatch.setattr(clocks, "_stopped", 3e5)
    assert 2e5 <= pickle.loads(data).elapsed() < 2.1e5
