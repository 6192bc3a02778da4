"""Engines in tests: the test command installs them all, so one that is missing is a failure."""

from functools import lru_cache

import pytest

from schedgap.solvers.engines.availability import EngineAvailability, engine_status, is_installed


def needs(engine: str, *, licence: EngineAvailability | None = None) -> None:
    """Fail without the engine; skip only where a licence, which no command installs, is another.

    Parameters
    ----------
    licence : EngineAvailability or None
        The one that a test is about; None: any that admits the toys.
    """
    assert is_installed(engine), f"{engine} is missing: the test command installs it"
    if engine != "gurobi":
        return
    status = _gurobi()
    if status == "no licence" or licence not in (None, status):
        pytest.skip(f"gurobi: {status}")


@lru_cache
def _gurobi() -> EngineAvailability:
    return engine_status("gurobi")
