"""The exact programs of family `edge`: optima by hand, by enumeration, and by one another."""

import math
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge import FAMILY, rules
from schedgap.models.edge.decisions import infeasibility_reason, sense
from schedgap.models.edge.placements import (
    runs_from_schedule,
    schedule_from_runs,
)
from schedgap.models.edge.programs import columns, printed, time_indexed
from schedgap.solvers import Clock, solve
from schedgap.solvers.children.processes import run_child
from strategies.edge import best_schedule, brute_force, edge_instances
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C

OPTIMA = [(TOY_A, 5), (TOY_B, 9), (TOY_C, 6), (TOY_BATCH, 3)]
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
Solve = Callable[[EdgeInstance], float]


def value(instance: EdgeInstance, schedule: EdgeSchedule) -> float:
    """Return the objective by the rules, which must accept the schedule."""
    data = schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def literal(instance: EdgeInstance) -> float:
    return _optimum(instance, printed.build(instance), printed.read)


def mode(instance: EdgeInstance) -> float:
    model = time_indexed.build(instance)
    result = solve(model.program, "highs", clock=Clock(60), grid=1)
    if result.status == "infeasible":
        return math.inf
    assert result.status == "optimal" and result.objective is not None
    schedule = time_indexed.read(model, instance, result.values)
    found = value(instance, schedule)
    assert found == pytest.approx(sense(instance) * result.objective)
    return found


def packing(instance: EdgeInstance) -> float:
    return _optimum(instance, columns.build(instance), columns.read)


def _optimum(instance: EdgeInstance, model: object, read: Callable[..., EdgeSchedule]) -> float:
    result = solve(model, "highs", clock=Clock(60), grid=1)
    if result.status == "infeasible":
        return math.inf
    assert result.status == "optimal" and result.objective is not None
    schedule = read(model, instance)
    # A program may say more than its schedule, cut to what a mode needs: never less.
    found = value(instance, schedule)
    assert found == pytest.approx(result.objective)
    return found


PROGRAMS: dict[str, Solve] = {"literal": literal, "mode": mode, "packing": packing}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("instance", "optimum"), OPTIMA)
def test_programs_solve_the_examples(name: str, instance: EdgeInstance, optimum: int) -> None:
    assert PROGRAMS[name](instance) == optimum


def agree(instance: EdgeInstance, names: tuple[str, ...] = tuple(PROGRAMS)) -> None:
    optimum = brute_force(instance)
    for name in names:
        assert PROGRAMS[name](instance) == optimum, name


@settings(max_examples=8, **QUIET)
@given(edge_instances(max_jobs=3, horizon=(5, 9), batch=None))
def test_programs_agree_with_enumeration(instance: EdgeInstance) -> None:
    agree(instance)


@settings(max_examples=8, **QUIET)
@given(edge_instances(max_jobs=2, horizon=(5, 8), batch=None, nasty=True, max_servers=2))
def test_programs_agree_with_enumeration_on_nasty_data(instance: EdgeInstance) -> None:
    agree(instance)


@pytest.mark.nightly
@settings(max_examples=1000, **QUIET)
@given(edge_instances(batch=None, nasty=True))
def test_programs_agree_with_enumeration_on_nasty_data_at_length(instance: EdgeInstance) -> None:
    agree(instance)


@pytest.mark.nightly
@settings(max_examples=500, **QUIET)
@given(edge_instances(batch=None))
def test_programs_agree_with_enumeration_at_length(instance: EdgeInstance) -> None:
    agree(instance)


def cp_sat_agrees(instances: list[EdgeInstance]) -> None:
    found = run_child("strategies.edge_cp_sat:schedules", instances, engine="cp-sat").result()
    for instance, schedule in zip(instances, found, strict=True):
        optimum = math.inf if schedule is None else value(instance, schedule)
        assert optimum == brute_force(instance)


def test_cp_sat_solves_the_examples() -> None:
    cp_sat_agrees([instance for instance, _ in OPTIMA])


def test_cp_sat_agrees_with_enumeration() -> None:
    cp_sat_agrees(drawn(edge_instances(batch=None), 40))


@pytest.mark.nightly
def test_cp_sat_agrees_with_enumeration_at_length() -> None:
    cp_sat_agrees(drawn(edge_instances(batch=None), 500))


def drawn(strategy: st.SearchStrategy[EdgeInstance], count: int) -> list[EdgeInstance]:
    """Draw instances at once: a child process is asked once for all of them."""
    instances: list[EdgeInstance] = []

    @settings(max_examples=count, database=None, derandomize=True, **QUIET)
    @given(strategy)
    def collect(instance: EdgeInstance) -> None:
        instances.append(instance)

    collect()
    return instances


@settings(max_examples=35, **QUIET)
@given(edge_instances(batch=None))
def test_each_run_is_a_column_once(instance: EdgeInstance) -> None:
    runs = list(columns.all_runs(instance))
    assert len(runs) == len(set(runs))
    assert all(run.on_one_server == run.mode.colocated for run in runs)
    for run in runs[:50]:
        data = schedule_from_runs(instance, [run]).to_data(instance)
        alone = [v for v in rules.check(instance, data, {}) if v.rule != "V1"]
        assert alone == []


@settings(max_examples=50, **QUIET)
@given(edge_instances(batch=None))
def test_schedules_are_cut_to_modes(instance: EdgeInstance) -> None:
    optimum, schedule = best_schedule(instance)
    if schedule is not None:
        cut = schedule_from_runs(instance, runs_from_schedule(instance, schedule))
        assert value(instance, cut) == optimum


@settings(max_examples=60, **QUIET)
@given(edge_instances(batch=False, max_jobs=2))
def test_a_job_that_never_fits_is_found_alone(instance: EdgeInstance) -> None:
    alone = [
        brute_force(EdgeInstance.from_data(instance.to_data() | {"jobs": [job]}))
        for job in instance.to_data()["jobs"]
    ]
    assert (infeasibility_reason(instance) is None) == (math.inf not in alone)


def test_the_exported_program_names_its_columns() -> None:
    """X1[j,h,n,s] and so on, each once; rows by the equation that they stand for."""
    for instance in (TOY_A, TOY_BATCH):
        program = FAMILY.programs["milp-mode"](instance)
        names = list(program.column_names)
        assert len(set(names)) == len(names) == len(program.cost)
        assert {name.partition("[")[0] for name in names} == {"X1", "X", "w", "q"}
        assert "eq_2g[1]" in program.row_names
