"""List schedules: against hand computation, against enumeration of places, and as a method."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.models.edge import FAMILY
from schedgap.models.edge.baselines.partial_schedule import EdgePartialSchedule, PsUsage
from schedgap.models.edge.heuristics.earliest_end import earliest_run
from schedgap.models.edge.heuristics.list_search import OrderAnnealing
from schedgap.models.edge.heuristics.lists import best_list, orders, place_all
from schedgap.models.edge.methods import METHODS
from schedgap.models.edge.rules import check, objective
from schedgap.models.method import Budget, RunContext
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


def value_of(partial: EdgePartialSchedule) -> int:
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
    small = earliest_run(EdgePartialSchedule(instance), 0)
    assert small.mode == (2, 2, True) and small.workers == ((1, 2),) and small.host == 1
    wide = earliest_run(EdgePartialSchedule(instance), 1)
    assert wide.workers == ((0, 3), (1, 2), (2, 1)) and wide.host == 2


def test_full_parameter_servers_are_intervals():
    """Two PSs: held in 1-4 and 3-6 and 5-5: both in 3-4 and in 5."""
    import numpy as np

    hosts = PsUsage(np.array([2, 1]))
    for start, end in ((1, 4), (3, 6), (5, 5)):
        hosts.hold(0, start, end)
    assert hosts.full(0) == [(3, 5), (5, 6)] and hosts.scarce == {0}
    assert [hosts.free_throughout(0, t, t) for t in range(1, 8)] == [1, 1, 0, 0, 0, 1, 2]
    assert hosts.free_throughout(0, 1, 2) == 1 and hosts.free_throughout(0, 6, 9) == 1
    hosts.release(0, 3, 6)
    assert hosts.full(0) == [] and hosts.free_throughout(0, 1, 9) == 1


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
    """Against all runs at all starts, with the jobs placed before, judged by the rules."""
    partial = EdgePartialSchedule(instance)
    first, last = instance.window
    able = [j for j, job in enumerate(instance.jobs) if instance.may_run(job)]
    for j in data.draw(st.permutations(able)) if able else ():
        job = instance.jobs[j]
        placed = partial.schedule().placements
        colocated = data.draw(st.booleans())
        best = None
        for run in placements(instance, job):
            if colocated and not run.colocated:
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
        found = earliest_run(partial, j, colocated=colocated)
        assert (found is None) == (best is None)
        if found is not None:
            n, d, near = found.mode
            assert (found.end, n * d, n, not near) == best
            partial.place(found)
            data_now = partial.schedule().to_data(instance)
            assert not [v for v in check(instance, data_now, {}) if v.rule != "V1"]


@settings(max_examples=9, deadline=None)
@given(edge_instances(max_jobs=4, horizon=(16, 24), placeable=True), st.integers(0, 3))
def test_the_search_never_loses_and_its_schedules_keep_the_rules(instance, seed):
    _, order = best_list(instance)
    first = place_all(instance, order)
    search = OrderAnnealing(instance, order, seed=seed)
    values = []
    search.run(60, on_better=lambda search: values.append(search.value))
    assert values == sorted(values, reverse=True)
    if not search.complete:
        return
    data = search.schedule().to_data(instance)
    assert list(check(instance, data, {})) == [] and objective(instance, data) == search.value
    assert search.value >= brute_force(instance)
    if len(first.runs) == len(instance.jobs):
        assert search.value <= value_of(first)


def test_an_order_from_outside_is_one_of_those_tried():
    assert orders(TOY_C, {0: 5.0, 1: 1.0})["starts"] == (1, 0)


@settings(max_examples=20, deadline=None)
@given(edge_instances(max_jobs=5, horizon=(8, 30)))
def test_the_best_list_is_no_worse_than_any_order(instance):
    _, order = best_list(instance)
    best = place_all(instance, order)
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
