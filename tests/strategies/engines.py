"""Engines in tests: `make test` installs all of them, so a missing one is a failure."""

from functools import lru_cache

import pytest

from schedgap.solvers.engines.availability import EngineAvailability, engine_status, is_installed


def needs(engine: str, *, licence: EngineAvailability | None = None) -> None:
    """Fail if an engine is missing; skip the test if its licence is not the required one.

    Parameters
    ----------
    engine : str
        Name of the engine.
    licence : EngineAvailability or None
        The licence that the test is about; None for any that admits small programs.
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
