"""Instances from the generators, optionally with small trace files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from schedgap.instances.generate import generate

TRACES = Path(__file__).parent.parent / "data" / "traces"


def maker(family: str) -> Callable[..., Any]:
    """Return the function `made(preset, seed, trace=FILE, nodes=FILE, **settings)` of a family."""

    def made(
        preset: str | None = None,
        seed: int = 0,
        *,
        trace: str | None = None,
        nodes: str | None = None,
        **settings: Any,
    ) -> Any:
        return generate(
            family,
            preset=preset,
            seed=seed,
            settings=settings,
            jobs_from=TRACES / trace if trace else None,
            machines_from=TRACES / nodes if nodes else None,
        )

    return made
