"""The contract of engines, on every installed one, also of other packages."""

import pytest

from schedgap.solvers import ENGINES
from schedgap.solvers.engines.availability import is_installed
from schedgap.solvers.engines.contract import CLAUSE_NAMES, check_clause
from strategies.engines import needs

LINEAR = [
    name
    for name, engine in ENGINES.items()
    if {"linear", "mixed-integer"} & set(engine.takes)
    and (is_installed(name) or not ENGINES.is_outside(name))
]


@pytest.mark.parametrize("clause", CLAUSE_NAMES)
@pytest.mark.parametrize("engine", LINEAR)
def test_every_engine_keeps_the_contract(engine: str, clause: str) -> None:
    needs(engine)
    assert check_clause(engine, clause) == ""
