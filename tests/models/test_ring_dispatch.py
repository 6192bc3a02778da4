"""The dispatcher of family `ring`, tight packing, and the paper's baselines."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget, Method, MethodResult, Progress, RunContext
from schedgap.models.ring import FAMILY
from schedgap.models.ring.algorithms.fa_ffp import fa_ffp
from schedgap.models.ring.algorithms.lbsgf import lbsgf
from schedgap.models.ring.algorithms.limit_search import TrialCache
from schedgap.models.ring.algorithms.packing import longest_first, lpt_pack, pack, random_orders
from schedgap.models.ring.algorithms.sjf_bco import search_runs
from schedgap.models.ring.baselines.first_fit import first_fit
from schedgap.models.ring.baselines.list_scheduling import list_scheduling
from schedgap.models.ring.baselines.random_placement import random_choice
from schedgap.models.ring.baselines.within_limit import search_with
from schedgap.models.ring.dispatch import Choose, dispatch, trial_schedule
from schedgap.models.ring.methods import METHODS as ALL
from schedgap.models.ring.rates import no_schedule, rate_table
from strategies.ring import ring_instances, slot_by_slot
from strategies.ring_examples import W1, W2, W3, instance_of, job

CHOICES: dict[str, Choose] = {
    "fa-ffp": fa_ffp,
    "lbsgf": lbsgf,
    "pack": pack,
    "least loaded": list_scheduling,
}
NAMES = (
    "sjf-bco", "lpt-pack", "random-orders", "first-fit", "list-scheduling", "random",
)  # fmt: skip
METHODS = {method.name: method for method in ALL if method.name in NAMES}


class Record(Progress):
    """Progress that records makespans."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def incumbent(self, schedule: Any, objective: float) -> None:
        assert schedule.makespan == objective
        self.values.append(objective)

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...
    def phase(self, text: str) -> None: ...


def run(
    method: Method, instance: RingInstance, seed: int = 0, told: Record | None = None, **given: Any
) -> MethodResult:
    call = RunContext(method.parse(given), None, Budget(seed=seed), told or Record())
    return FAMILY.run(method, instance, call)


def test_an_order_is_kept_strictly() -> None:
    """One server of 2: a takes one GPU, b asks for two and waits, c may not overtake it."""
    jobs = [job("a", 1, 28), job("b", 2, 20, 0.0), job("c", 1, 14)]
    table = rate_table(instance_of(jobs, [2]))
    trial = dispatch(table, [0, 1, 2], pack)
    assert trial.starts == (1, 3, 5)  # b: 20 iterations at 14 per slot are 2 slots


def test_a_limit_that_no_gpu_keeps_ends_the_run() -> None:
    """W2, limit 5: 3 | 3, then 3 + 2 on both, and 2 more would be 7."""
    trial = dispatch(rate_table(W2), range(5), list_scheduling, limit=5)
    assert not trial.feasible and (trial.largest_accepted, trial.smallest_refused) == (5, 7)
    assert trial.holds_for(6.9) and not trial.holds_for(7) and not trial.holds_for(4)


def test_a_run_ends_with_the_horizon() -> None:
    jobs = [job(name, 1, 14) for name in "abc"]
    assert dispatch(rate_table(instance_of(jobs, [1], horizon=3)), range(3), pack).makespan == 3
    table = rate_table(instance_of(jobs, [1], horizon=2))
    assert not dispatch(table, range(3), pack).feasible


@given(
    ring_instances(max_jobs=6, placeable=True),
    st.sampled_from(sorted(CHOICES)),
    st.sampled_from([np.inf, 4.0, 9.0]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=70, deadline=None)
def test_every_run_is_a_schedule_with_numbers(
    instance: RingInstance, name: str, limit: float, rng: Any
) -> None:
    """Ends are as in plain simulation, no GPU has two jobs, and loads keep to the limit."""
    if no_schedule(instance):
        return
    order = list(range(len(instance.jobs)))
    rng.shuffle(order)
    trial = dispatch(rate_table(instance), order, CHOICES[name], limit=limit)
    if not trial.feasible:
        return
    assert trial.load <= limit + 1e-6
    runs = trial_schedule(instance, trial).runs
    names = [server.id for server in instance.servers]
    placed = [
        {names.index(server): count for server, count in runs[each.id].placement.items()}
        for each in instance.jobs
    ]
    ends, within = slot_by_slot(instance, trial.starts, placed, instance.horizon)
    assert within and tuple(ends) == trial.ends
    held = {
        (server, number, slot)
        for each in runs.values()
        for server, numbers in (each.gpus or {}).items()
        for number in numbers
        for slot in range(each.start, each.end + 1)
    }
    jobs = zip(instance.jobs, trial.starts, trial.ends, strict=True)
    assert len(held) == sum(each.gpus * (end - start + 1) for each, start, end in jobs)
    starts = [trial.starts[j] for j in order]
    assert starts == sorted(starts)


@given(ring_instances(max_jobs=6, placeable=True), st.sampled_from(sorted(CHOICES)), st.data())
@settings(max_examples=45, deadline=None)
def test_a_run_is_the_same_for_every_limit_that_it_names(
    instance: RingInstance, name: str, data: st.DataObject
) -> None:
    if no_schedule(instance):
        return
    table, order = rate_table(instance), list(range(len(instance.jobs)))
    limits = data.draw(st.lists(st.integers(1, 60), min_size=2, max_size=6))
    kept = TrialCache(table, order, lambda kappa: CHOICES[name])
    for limit in limits:
        anew = dispatch(table, order, CHOICES[name], limit=limit)
        trial = kept(limit, None)
        assert (trial.starts, trial.ends) == (anew.starts, anew.ends)
        assert [gpus.tolist() for gpus in trial.gpus] == [gpus.tolist() for gpus in anew.gpus]


def test_packing_prefers_a_server_that_has_had_work() -> None:
    """Servers of 4, 2, 3. a: the fewest idle, s2. b: s2 again once it is idle, else s3, not s1."""
    jobs = [job("a", 2, 28), job("b", 2, 28), job("c", 1, 14), job("d", 4, 14)]
    trial = dispatch(rate_table(instance_of(jobs, [4, 2, 3])), [0, 1, 2, 3], pack)
    assert [gpus.tolist() for gpus in trial.gpus] == [[4, 5], [6, 7], [8], [0, 1, 2, 3]]
    two = dispatch(
        rate_table(instance_of([job("a", 3, 14), job("b", 2, 14)], [8, 2])), [0, 1], pack
    )
    assert two.gpus[1].tolist() == [3, 4]  # s1, though b would fill s2


def test_packing_spreads_over_the_emptiest_servers() -> None:
    """5 workers on servers of 2, 4, 3: 4 on s2 and 1 on s3."""
    trial = dispatch(rate_table(instance_of([job("a", 5, 10)], [2, 4, 3])), [0], pack)
    assert trial.gpus[0].tolist() == [2, 3, 4, 5, 6]


def test_packing_on_few_servers_waits_but_never_for_ever() -> None:
    """a holds 2 of 3 GPUs of s1; b would need both servers now, one later."""
    jobs = [job("a", 2, 28), job("b", 3, 14)]
    table = rate_table(instance_of(jobs, [3, 2]))
    spread = dispatch(table, [0, 1], lambda j, cluster: pack(j, cluster, 2))
    alone = dispatch(table, [0, 1], lambda j, cluster: pack(j, cluster, 1))
    assert (spread.starts[1], alone.starts[1]) == (1, 1)  # a packs s2 and leaves s1 alone
    jobs = [job("a", 1, 28), job("b", 3, 14), job("c", 5, 14)]
    table = rate_table(instance_of(jobs, [2, 3]))
    trial = dispatch(table, [0, 1, 2], lambda j, cluster: pack(j, cluster, 1))
    assert trial.feasible and len(trial.gpus[2]) == 5  # needs two servers even when all is idle


def test_longest_first_has_three_orders() -> None:
    """W3: d = 5, 6, 3, 3, 2 and G = 1, 2, 2, 4, 1: G d = 5, 12, 6, 12, 2."""
    table = rate_table(W3)
    assert longest_first(table) == [[1, 0, 2, 3, 4], [1, 3, 2, 0, 4], [3, 1, 2, 0, 4]]
    assert lpt_pack(table).makespan == 8


def test_the_worked_examples_by_every_method() -> None:
    """W1: 8 for all, both at once or one after the other. W2: 7 for least loaded. W3: 8 and 10."""
    assert {run(method, W1).schedule.makespan for method in METHODS.values()} == {8}
    expected = {"sjf-bco": 7, "first-fit": 7, "list-scheduling": 7, "lpt-pack": 7}
    for name, value in expected.items():
        assert run(METHODS[name], W2).schedule.makespan == value, name
    expected = {"sjf-bco": 8, "first-fit": 10, "list-scheduling": 10, "lpt-pack": 8}
    for name, value in expected.items():
        assert run(METHODS[name], W3).schedule.makespan == value, name
    assert run(METHODS["sjf-bco"], W3, ffp_rule="pack").schedule.makespan == 10
    assert run(METHODS["sjf-bco"], W3, kappa=2).schedule.makespan == 10
    assert run(METHODS["random-orders"], W3).schedule.makespan == 8


def test_what_sjf_bco_tells_of_its_run() -> None:
    found = run(METHODS["sjf-bco"], W1)
    assert (found.schedule.facts["theta"], found.schedule.facts["kappa"]) == (15, 1)
    assert found.trace["list_bound"] >= 8


def test_large_jobs_go_gpu_by_gpu_or_server_by_server() -> None:
    """c has half of s1, b all of s2 and s3; a takes GPUs of s1 and s2, or of all three."""
    jobs = [job("a", 4, 56), job("b", 3, 14, 4 / 3), job("c", 2, 42, 4 / 3)]
    instance, method = instance_of(jobs, [4, 2, 1]), METHODS["sjf-bco"]
    found = run(method, instance, kappa=1).schedule.runs["a"]
    assert found.placement == {"s1": 2, "s2": 2} and found.end == 7
    found = run(method, instance, kappa=1, lbsgf_rule="list").schedule.runs["a"]
    assert found.placement == {"s1": 1, "s2": 2, "s3": 1} and found.end == 8


@pytest.mark.parametrize("name", METHODS)
def test_what_cannot_be_scheduled_is_proved(name: str) -> None:
    """Four GPUs where there are three; rings that make no progress; a horizon that is too short."""
    slow = W1.from_data(W1.to_data() | {"bandwidth_between": 0.5})
    late = W1.from_data(W1.to_data() | {"horizon": 3})
    for instance in (instance_of([job("a", 4, 10)], [3]), slow, late):
        assert run(METHODS[name], instance).infeasible


@pytest.mark.parametrize("name", METHODS)
def test_no_run_within_the_horizon_is_said_so(name: str) -> None:
    """W2 with T = 6: 3 + 3 | 2 + 2 + 2 would fit, least loaded first does not."""
    instance = W2.from_data(W2.to_data() | {"horizon": 6})
    outcome = run(METHODS[name], instance, seed=3)
    if name not in ("random-orders", "random"):
        assert outcome.schedule is None and not outcome.infeasible and outcome.note


def test_first_fit_goes_from_server_to_server() -> None:
    """Servers of 1 and 3: a ring of 2 takes the GPU of s1 and one of s2; by load all are alike."""
    table = rate_table(instance_of([job("a", 2, 10)], [1, 3]))
    best = search_with(table, first_fit).best
    assert best is not None and best.trial.gpus[0].tolist() == [0, 1]


@pytest.mark.parametrize("name", ["first-fit", "list-scheduling", "random"])
def test_a_baseline_takes_jobs_in_list_order_or_smallest_first(name: str) -> None:
    """A ring of 2 listed before a job of 1, on two GPUs: only one of them can start at once."""
    instance = instance_of([job("a", 2, 28, 0.0), job("b", 1, 28)], [2])
    listed, smallest = (
        run(METHODS[name], instance, order=order).schedule.runs for order in ("list", "sjf")
    )
    assert listed["a"].start == 1 < listed["b"].start
    assert smallest["b"].start == 1 < smallest["a"].start


@pytest.mark.parametrize("seed", range(4))
def test_smallest_first_ls_is_sjf_bco_without_lbsgf(seed: int) -> None:
    """E28: in the order of Algorithm 1, LS makes the run with kappa = n_g."""
    changes = {"jobs": 40, "servers": 4, "server_gpus": "8,16,32"}
    instance = generate("ring", preset="paper", seed=seed, settings=changes)
    assert isinstance(instance, RingInstance)
    table = rate_table(instance)
    largest = max(table.size)
    by_load = search_with(table, list_scheduling, "sjf").best
    without = search_runs(table, kappa=largest).best
    assert by_load is not None and without is not None
    assert by_load.trial.starts == without.trial.starts
    assert by_load.trial.makespan == without.trial.makespan


def test_list_scheduling_looks_at_loads_alone() -> None:
    """a loads GPU 0; b and c take GPUs 1 and 2; d the least loaded idle one when it comes."""
    jobs = [job("a", 1, 42), job("b", 1, 14), job("c", 1, 28), job("d", 1, 14)]
    best = search_with(rate_table(instance_of(jobs, [2, 1])), list_scheduling).best
    assert best is not None
    assert [gpus.tolist() for gpus in best.trial.gpus] == [[0], [1], [2], [1]]


@pytest.mark.parametrize("name", ["sjf-bco", "first-fit", "list-scheduling", "random-orders"])
def test_better_runs_are_told_as_they_come(name: str) -> None:
    instance = instance_of([job(f"j{n}", 1 + n % 4, 14 * (1 + n % 3)) for n in range(9)], [3, 4, 2])
    told = Record()
    outcome = run(METHODS[name], instance, told=told)
    assert told.values == sorted(set(told.values), reverse=True)
    assert told.values[-1] == outcome.schedule.makespan


def test_a_seed_repeats_a_random_method() -> None:
    instance = instance_of([job(f"j{n}", 1 + n % 4, 14 * (1 + n % 3)) for n in range(9)], [3, 4, 2])
    for name in ("random", "random-orders"):
        data = [run(METHODS[name], instance, seed).schedule.to_data(instance) for seed in (1, 1, 2)]
        assert data[0] == data[1] != data[2]


def test_random_placement_has_the_horizon_as_its_limit() -> None:
    """10 and 10 slots on one GPU, T = 20."""
    instance = instance_of([job("a", 1, 140), job("b", 1, 140)], [1], horizon=20)
    assert run(METHODS["random"], instance).schedule.makespan == 20


def test_random_placement_draws_servers_and_then_gpus() -> None:
    """Servers of 1 and 9: a worker lands on s1 in half of the draws, not in a tenth."""
    table = rate_table(instance_of([job("a", 1, 10)], [1, 9]))
    hits = sum(
        dispatch(table, [0], random_choice(np.random.default_rng(seed))).gpus[0][0] == 0
        for seed in range(200)
    )
    assert 70 <= hits <= 130


def test_random_orders_stops_with_the_clock() -> None:
    tried: list[float] = []
    trial = random_orders(
        rate_table(W3),
        0,
        tries=10**6,
        stop=lambda: True,
        on_better=lambda t: tried.append(t.makespan),
    )
    assert trial is not None and tried == [trial.makespan]
