"""Programs as their builders return them, and the method that solves any of them."""

from dataclasses import replace

import numpy as np
import pytest

from schedgap import generate
from schedgap.errors import ContradictionError, ScaleError, UsageError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.exact.build_programs import milp_mode
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.family import family
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.models.program import (
    BuiltProgram,
    Known,
    NotBuiltError,
    Program,
    SolveProgram,
    check_size,
)
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.arrays import LinearProgram
from strategies.edge_examples import TOY_A
from strategies.elastic_stops import STOPPED

OWN = [
    (name, key)
    for name in ("hare", "ring", "edge", "elastic", "dmlrs")
    for key, program in family(name).programs.items()
    if program.kind == "exact" and key != "paper-miqcp"
]


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize(("name", "key"), OWN)
def test_every_exact_program_reads_an_optimal_schedule(name: str, key: str, narrow: bool) -> None:
    """Also in narrow time windows, which have other columns than the full horizon."""
    owner, instance = family(name), generate(name, preset="toy")
    built = owner.programs[key].built(instance, narrow=narrow)
    result = solve(built.model, "highs", clock=Clock(60))
    assert result.status == "optimal" and result.objective is not None
    schedule = built.read(result.values)
    data = schedule.to_data(instance)
    assert list(owner.check(instance, data, {})) == []
    unit = owner.programs[key].unit(instance) if isinstance(built.model, LinearProgram) else 1.0
    assert owner.objective(instance, data) == pytest.approx(unit * result.objective)


def call() -> RunContext:
    return RunContext({}, "highs", Budget(Clock(60)), NullProgress())


def test_a_program_of_arrays_is_read_by_its_own_reader() -> None:
    """A program of another package has no `BuiltProgram`: its reader gets a Pyomo model."""
    arrays = LinearProgram(np.ones(2), np.zeros(2), np.ones(2), np.eye(2), np.zeros(2), np.ones(2))
    program: Program = Program(
        "", "exact", lambda instance: arrays, read=lambda model, instance: model.columns[1].value
    )
    assert program.built(TOY_A).read([3.0, 4.0]) == 4.0
    assert Program("", "exact", lambda instance: arrays).built(TOY_A).read([3.0, 4.0]) is None


@pytest.mark.parametrize("in_child", [True, False])
def test_what_is_not_built_leaves_a_list_and_a_bound(in_child: bool) -> None:
    method = SolveProgram(milp_mode, initial_state, in_child=in_child)
    found = method(TOY_A, call(), max_columns=10)
    assert found.schedule is not None and found.bound == 4 and "> max_columns=10" in found.note
    found = method(TOY_A, call(), max_columns=10_000)
    assert found.bound == found.schedule.value(TOY_A) and not found.note


def test_no_program_means_no_schedule() -> None:
    """Beside a list schedule that is a contradiction, which is not passed over."""

    def build(instance: EdgeInstance, known: object) -> None: ...

    def nothing(instance: EdgeInstance, call: RunContext) -> SearchState:
        return SearchState(call, lambda schedule: 0.0)

    assert SolveProgram(build, nothing)(TOY_A, call()).infeasible
    with pytest.raises(ContradictionError, match="no schedule, beside a schedule of 5"):
        SolveProgram(build, initial_state)(TOY_A, call())


def test_sizes_up_to_the_limit_are_built() -> None:
    check_size(10, 10)
    check_size(10**9, None)
    with pytest.raises(NotBuiltError, match="too large: 11 rows > max_rows=10"):
        check_size(11, 10, "rows")


@pytest.mark.parametrize("name", ["compact-exponential", "cp-sat"])
def test_cp_sat_gets_whole_numbers_only(name: str) -> None:
    """Sums may exceed a capacity by round-off, which the rules allow and CP-SAT does not."""
    owner = family("elastic")
    method = owner.method(name)
    asked = RunContext(method.parse({}), "cp-sat", Budget(Clock(60)), NullProgress())
    with pytest.raises(ScaleError, match="weights need"):
        owner.run(method, STOPPED["thirds"], asked)
    data = STOPPED["nearly equal"].to_data()
    for kind in data["worker_types"]:
        kind["demand"]["gpu"] *= 1.00001
    with pytest.raises(ScaleError, match="no whole steps"):
        owner.run(method, STOPPED["nearly equal"].from_data(data), asked)


def test_a_builder_knows_the_list_and_the_engine_starts_from_it() -> None:
    known: list[Known] = []
    starts: list[EdgeSchedule] = []

    def build(instance: EdgeInstance, given: Known) -> BuiltProgram:
        known.append(given)
        return replace(milp_mode(instance, given), start=starts.append)

    found = SolveProgram(build, initial_state)(TOY_A, call())
    assert found.bound == found.schedule.value(TOY_A) == 5
    assert [each.lower for each in known] == [4]
    assert [each.schedule for each in known] == starts and starts[0].value(TOY_A) >= 5


def test_an_engine_gets_the_options_of_the_instance() -> None:
    method = SolveProgram(milp_mode, initial_state, lambda instance, engine: {engine: "x"})
    with pytest.raises(UsageError, match="no option highs"):
        method(TOY_A, call())
