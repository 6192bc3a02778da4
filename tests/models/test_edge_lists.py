"""List schedules: against hand computation, against enumeration of places, and as a method."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.generate import generate
from schedgap.models.edge import FAMILY
from schedgap.models.edge.decisions import ModeStart
from schedgap.models.edge.heuristics import kernel, list_search
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.edge.heuristics.kernel import KERNEL
from schedgap.models.edge.heuristics.list_search import anneal_types
from schedgap.models.edge.heuristics.lists import best_list, orders, place_all
from schedgap.models.edge.heuristics.partial_schedule import PartialSchedule
from schedgap.models.edge.methods import METHODS
from schedgap.models.edge.modes import JobMode
from schedgap.models.edge.placements import PlacedRun
from schedgap.models.edge.rules import check, objective
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.search.annealing import insert_all
from schedgap.solvers.search.compiled import Kernel
from strategies.edge import brute_force, edge_instances, instance_of, placements
from strategies.edge_examples import TOY_A, TOY_B, TOY_C


class Quiet:
    """Progress that keeps what it hears."""

    def __init__(self):
        self.values = []

    def incumbent(self, schedule, objective):
        self.values.append(objective)

    def bound(self, value, certificate=None, **more):
        raise AssertionError("a list has no bound")

    def phase(self, text):
        pass


def solved(instance, seed=0, **options):
    (method,) = (each for each in METHODS if each.name == "list")
    call = RunContext(method.parse(options), None, Budget(seed=seed), Quiet())
    return FAMILY.run(method, instance, call), call.progress.values


def value_of(partial: PartialSchedule) -> int:
    """Return sum c_j - a_j of the placed jobs."""
    arrival = arrays(partial.instance).arrival
    return sum(run.end - int(arrival[job]) for job, run in partial.runs.items())


@pytest.mark.parametrize(("instance", "value"), [(TOY_A, 6), (TOY_B, 9), (TOY_C, 9)])
def test_the_toys_by_arrival(instance, value):
    """toy-a: j1 in 2-3 on edge-1, j2 in 2-3 on edge-2, j3 in 4: 2 + 2 + 2.
    toy-b: edge-1 in 2-3, the cloud in 4 with four workers, edge-1 in 4-5: 2 + 3 + 4.
    toy-c: j1 first, 2-5, then j2 in 6: 4 + 5.
    """
    partial = place_all(instance, orders(instance)["arrival"])
    assert value_of(partial) == value
    data = partial.schedule().to_data(instance)
    assert list(check(instance, data, {})) == [] and objective(instance, data) == value


def test_the_places_of_the_toy():
    partial = place_all(TOY_A, (0, 1, 2))
    j1, j2, j3 = partial.schedule().placements.values()
    assert (j1.start, j1.completion, j1.workers, j1.ps_server) == (2, 3, {"edge-1": 2}, "edge-1")
    assert (j2.start, j2.completion, j2.workers) == (2, 3, {"edge-2": 2})
    assert (j3.start, j3.completion, j3.workers) == (4, 4, {"edge-1": 1})


def test_ties_go_together_on_the_fullest_server_and_split_to_where_most_is_free():
    """Two workers for two slots: on b, as a has three and c comes later. Six workers: all of a and
    b, one of c, which has the most PSs."""
    servers = [
        {"id": "a", "kind": "edge", "workers": {"gpu": 3}, "parameter_servers": {"cpu": 1}},
        {"id": "b", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {"cpu": 1}},
        {"id": "c", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {"cpu": 3}},
    ]
    instance = instance_of([{"epochs": 2, "chunks": 2}, {"chunks": 6}], servers=servers)
    small = place_all(instance, (0,)).runs[0]
    assert small.mode == (2, 2, True) and small.workers == ((1, 2),) and small.host == 1
    wide = place_all(instance, (1,)).runs[1]
    assert wide.workers == ((0, 3), (1, 2), (2, 1)) and wide.host == 2


def test_parameter_servers_are_full_in_intervals():
    """Two PSs, in use in 2-5 and 4-7 and 6-6: both in 4-5 and in 6, and one until 7."""
    jobs = [{"epochs": 4}, {"epochs": 4}, {"epochs": 1}]
    servers = [{"id": "a", "kind": "edge", "workers": {"gpu": 9}, "parameter_servers": {"cpu": 2}}]
    partial = PartialSchedule(instance_of(jobs, servers=servers, horizon=20))
    (problem,), (state,) = partial.problems, partial.states
    for job, first, last in ((0, 2, 5), (1, 4, 7), (2, 6, 6)):
        mode_start = ModeStart(job, JobMode(1, last - first + 1, True), first)
        assert partial.place(PlacedRun(mode_start, ((0, 1),), 0))
    assert state.ps_scarce[0] == 1
    full = [kernel.full_from(problem, state, 0, 0, slot) for slot in range(1, 9)]
    assert full == [4, 4, 4, 4, 5, 6, kernel.FAR, kernel.FAR]
    assert [kernel.next_release(problem, state, 0, slot) for slot in (1, 6, 7)] == [6, 7, 8]
    assert not partial.place(PlacedRun(mode_start, ((0, 1),), 0))
    kernel.apply(problem, state, 1, -1)
    assert kernel.full_from(problem, state, 0, 0, 1) == kernel.FAR
    kernel.apply(problem, state, 2, -1)
    assert state.ps_scarce[0] == 0


@settings(max_examples=50, deadline=None)
@given(edge_instances(max_jobs=4, horizon=(8, 16), batch=None), st.data())
def test_a_job_ends_soonest_in_what_is_free(instance, data):
    ends_soonest(instance, data)


@pytest.mark.nightly
@settings(max_examples=2000, deadline=None)
@given(edge_instances(max_jobs=5, max_servers=4, horizon=(8, 20), batch=None), st.data())
def test_a_job_ends_soonest_in_what_is_free_at_length(instance, data):
    ends_soonest(instance, data)


def ends_soonest(instance, data):
    """Against all runs at all starts, with the jobs placed before, judged by the rules.

    With a share of the workers, and perhaps colocated only.
    """
    partial = PartialSchedule(instance)
    first, last = instance.window
    able = [j for j, job in enumerate(instance.jobs) if instance.may_run(job)]
    for i in data.draw(st.permutations(able)) if able else ():
        job = instance.jobs[i]
        placed = partial.schedule().placements
        share, colocated = data.draw(st.sampled_from([1.0, 1.0, 0.5])), data.draw(st.booleans())
        best = None
        for run in placements(instance, job):
            if (colocated and not run.colocated) or run.number > max(1, int(share * job.chunks)):
                continue
            for start in range(max(first, run.start), last - run.slots + 2):
                end = start + run.slots - 1
                key = (end, run.slots * run.number, run.number, not run.colocated)
                if best is not None and key >= best:
                    continue
                moved = type(run)(start, end, run.workers, run.ps_server)
                trial = EdgeSchedule({**placed, job.id: moved}).to_data(instance)
                if not [v for v in check(instance, trial, {}) if v.rule != "V1"]:
                    best = key
        t, j = partial.row[i]
        gene = share, float(colocated), 0.0
        insert_all(KERNEL.plain, partial.problems[t], partial.states[t], [j], gene)
        found = partial.runs.get(i)
        assert (found is None) == (best is None)
        if found is not None:
            n, d, near = found.mode
            assert (found.end, n * d, n, not near) == best
            data_now = partial.schedule().to_data(instance)
            assert not [v for v in check(instance, data_now, {}) if v.rule != "V1"]


@settings(max_examples=9, deadline=None)
@given(edge_instances(max_jobs=4, horizon=(16, 24), placeable=True), st.integers(0, 3))
def test_the_search_never_loses_and_its_schedules_keep_the_rules(instance, seed):
    _, partial = best_list(instance)
    complete, first = partial.complete, partial.value
    values = [first] if complete else []
    with mock.patch.multiple(list_search, HOT=1.0, COLD=1.0):  # it leaves the best schedule again
        anneal_types(
            partial, Clock(), moves=30, rounds=2, seed=seed,
            on_better=lambda schedule: values.append(schedule.value(instance)),
        )  # fmt: skip
    assert values == sorted(values, reverse=True) and len(values) == len(set(values))
    assert partial.complete >= complete and partial.value <= first
    if not partial.complete:
        return
    data = partial.schedule().to_data(instance)
    assert list(check(instance, data, {})) == []
    assert objective(instance, data) == partial.value == values[-1] >= brute_force(instance)


def test_an_order_from_outside_is_one_of_those_tried():
    assert orders(TOY_C, {0: 5.0, 1: 1.0})["starts"] == (1, 0)


@settings(max_examples=20, deadline=None)
@given(edge_instances(max_jobs=5, horizon=(8, 30)))
def test_the_best_list_is_no_worse_than_any_order(instance):
    _, best = best_list(instance)
    for other in orders(instance).values():
        partial = place_all(instance, other)
        assert len(best.runs) >= len(partial.runs)
        if len(best.runs) == len(partial.runs):
            assert value_of(best) <= value_of(partial)


def test_the_method_finds_the_toys_optima_and_repeats_itself():
    for instance, optimum in ((TOY_A, 5), (TOY_B, 9), (TOY_C, 6)):
        outcome, values = solved(instance)
        assert outcome.schedule.value(instance) == optimum == values[-1]
        assert outcome.trace["flow_time"] == optimum + len(instance.jobs)
        assert solved(instance)[0].schedule == outcome.schedule
    outcome, _ = solved(TOY_A, order="arrival")
    assert outcome.schedule.value(TOY_A) == 6


def test_jobs_without_a_place_are_counted_and_the_others_kept():
    """Slots 2-5 are j1's alone, or j2's and three that j1 cannot use."""
    short = EdgeInstance.from_data(TOY_C.to_data() | {"horizon": 5})
    outcome, values = solved(short)
    assert outcome.schedule is None and outcome.note == "1 of 2 jobs unplaced" and not values
    assert set(outcome.partial["jobs"]) | set(outcome.trace["left"]) == {"j1", "j2"}


def test_a_job_that_cannot_end_in_time_is_a_proof():
    short = EdgeInstance.from_data(TOY_C.to_data() | {"horizon": 4})
    outcome, _ = solved(short)
    assert outcome.infeasible and outcome.note == "job j1 cannot end by slot 4"


def test_the_first_schedule_does_not_wait_for_compiled_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Loading it takes half a second, a first list of 200 jobs on 201 servers 0.08 s."""

    def load(used: Kernel) -> None:
        raise ImportError

    instance, found = generate("edge", preset="medium", seed=67), []
    assert isinstance(instance, EdgeInstance) and KERNEL.large(instance)
    monkeypatch.setattr(Kernel, "fast", property(load))

    class Ear(NullProgress):
        def incumbent(self, schedule: object, objective: float) -> None:
            found.append(objective)

    with pytest.raises(ImportError):
        initial_state(instance, RunContext({}, None, Budget(Clock(9)), Ear()))
    assert found == [136.0]
