"""Proofs of elastic optima: the program of `proof.py` against enumeration."""

import json
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap.analysis.solving.proving import find_evidence
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import proof, rules
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.exact import prove
from schedgap.models.elastic.exact.prove import prove_goal
from schedgap.models.method import Budget, RunContext
from schedgap.models.proofs import check_here, check_proof, proof_data
from schedgap.solvers import Clock
from schedgap.solvers.proofs import cuts
from schedgap.solvers.proofs.checker import Checked, RefusedError, check_tree
from schedgap.solvers.proofs.prover import Proved
from strategies.elastic import best_schedule, elastic_instances, instance_of
from strategies.elastic_examples import J1
from strategies.elastic_stops import EXACT, FAMILY, Heard, switched

BETTER = "a better solution exists"


@pytest.fixture(autouse=True)
def _no_known_runs() -> Iterator[None]:
    """Tests change how runs are listed."""
    proof._all_runs.cache_clear()
    yield
    proof._all_runs.cache_clear()


def attempt(instance: ElasticInstance, goal: int) -> Proved:
    return prove_goal(instance, goal, budget=Budget(Clock(120)))


def checked(instance: ElasticInstance, goal: int, proved: Proved) -> Checked:
    assert proved.proof is not None
    data: dict[str, Any] = json.loads(
        json.dumps(
            {
                "vectors": proved.proof.vectors,
                "cuts": proved.proof.cuts,
                "tree": proved.proof.tree,
            }
        )
    )
    return check_tree(proof.space(instance, goal, data), data)


def hold_to_enumeration(instance: ElasticInstance) -> None:
    optimum, schedule = best_schedule(instance)
    goal = proof.goal(instance, None if schedule is None else optimum)
    if goal is None:  # too large to be written down
        assert schedule is None
        return
    proved = attempt(instance, goal)
    if proved.reason == BETTER and instance.is_batch and proof.within(instance, optimum):
        # Weights are rounded: a value far below the largest weight is known to within that.
        assert optimum < 1e-2 * max(job.weight for job in instance.jobs)
        return
    assert proved.reason == ""
    assert checked(instance, goal, proved).leaves >= 1
    if schedule is None:
        return
    # The program holds the optimal schedule: the claim that there is none is answered by it.
    wrong = goal + 1
    if proof.within(instance, optimum):
        wrong += 2 * math.ceil(abs(goal) * 1e-6)
    false = attempt(instance, wrong)
    assert false.proof is None
    assert false.reason == BETTER
    if false.better is not None:  # else it breaks a rule by less than is rounded away
        assert math.isclose(false.better.value(instance), optimum, rel_tol=1e-5)
    with pytest.raises(RefusedError):
        checked(instance, wrong, proved)


DRAWN = st.one_of(
    elastic_instances(max_jobs=4),
    elastic_instances(integer=False),
    elastic_instances(nasty=True),
)


@settings(max_examples=18, deadline=None)
@given(DRAWN)
def test_optima_are_proved_and_nothing_else(instance: ElasticInstance) -> None:
    hold_to_enumeration(instance)


@pytest.mark.nightly
@settings(max_examples=3000, deadline=None)
@given(DRAWN)
def test_thousands_of_optima_are_proved_and_nothing_else(instance: ElasticInstance) -> None:
    hold_to_enumeration(instance)


SETTINGS: list[dict[str, Any]] = [
    {"architecture": architecture, "objective": objective, "horizon_policy": policy}
    for architecture in ("parameter_server", "ring_allreduce")
    for objective, policy in (
        ("weighted_completion", "open"),
        ("weighted_completion", "closed"),
        ("scheduled_weight", "open"),
    )
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda given: "-".join(given.values()))
def test_every_variant_is_proved_with_pools(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove, "FEW_RUNS", -1)  # also small programs have pools
    batch = {"deadline": 6} if settings["objective"] == "scheduled_weight" else {}
    instance = sg.generate(
        "elastic", preset="small", seed=105, settings=settings | batch | {"jobs": 3, "servers": 2}
    )
    assert isinstance(instance, ElasticInstance)
    hold_to_enumeration(instance)
    goal = proof.goal(instance, best_schedule(instance)[0])
    assert goal is not None
    data = find_evidence(lambda message: None, instance, goal, None, 60.0, 0).data
    assert data is not None
    assert check_here(instance, data).status == "proved"
    (pool,) = [vector for vector in data["vectors"] if "p" in vector]
    pool["o"] = -1
    assert "/o: needs a number >= 0" in check_here(instance, data).reason
    pool["o"], pool["p"] = 1, [[0, 0, 10**6, 1]]
    assert check_here(instance, data).reason.endswith("/p: no such price, or a second one")


def test_prices_after_the_last_slot_of_a_low_goal_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The goal leaves the jobs no time to wait, and the prices have far more slots."""
    monkeypatch.setattr(prove, "FEW_RUNS", 0)
    monkeypatch.setattr(prove, "_prices", lambda instance, budget: np.ones((3, 3, 99)))
    instance = sg.generate("elastic", preset="small", seed=4)
    assert isinstance(instance, ElasticInstance)
    goal = int(job_alone(instance))
    checked(instance, goal, attempt(instance, goal))


def test_a_deadline_far_away_needs_no_prices_for_its_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prove, "FEW_RUNS", 0)
    instance = instance_of([J1, J1], objective="scheduled_weight", deadline=10**9)
    assert attempt(instance, proof.goal(instance, 3)).better is not None


@pytest.mark.parametrize("settings", SETTINGS[::2], ids=lambda given: "-".join(given.values()))
def test_exact_refutes_better_values_and_writes_the_proof(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove, "FEW_RUNS", 0)
    monkeypatch.setattr(prove, "MANY_RUNS", 5)  # goals far below the incumbent come first
    batch = {"deadline": 6} if settings["objective"] == "scheduled_weight" else {}
    instance = sg.generate(
        "elastic", preset="small", seed=105, settings=settings | batch | {"jobs": 4}
    )
    assert isinstance(instance, ElasticInstance)
    optimum, _ = best_schedule(instance)
    with switched(("bad start",)):
        result = FAMILY.run(
            EXACT["exact"], instance, RunContext({}, None, Budget(Clock(60)), Heard())
        )
    assert result.schedule is not None
    assert result.schedule.value(instance) == optimum
    assert result.bound == optimum
    assert result.trace["proof"] == ["refute"]
    assert "cp-sat" not in result.trace  # which comes after the first refutation
    goal, found = proof.goal(instance, optimum), result.proof
    assert goal is not None
    assert found is not None
    data = proof_data(instance, goal, vectors=found.vectors, cuts=found.cuts, tree=found.tree)
    assert check_here(instance, data).status == "proved"


# --- what is left out is noticed -----------------------------------------------------------------

TOY = instance_of(
    [
        {"weight": 3, "epochs": 2, "chunks": 3, "batches_per_chunk": 2, "gradient_size": 0.25,
         "train_time": {"w1": 0.5}, "update_time": {"p1": 0.0}},
        {"weight": 5, "chunks": 2, "batches_per_chunk": 4, "gradient_size": 0.25,
         "train_time": {"w1": 0.5}, "update_time": {"p1": 0.0}},
    ],
    servers=[{"id": "s1", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 6}}],
)  # fmt: skip


def test_a_capacity_left_out_makes_proofs_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    goal = proof.goal(TOY, best_schedule(TOY)[0])
    assert goal is not None
    assert attempt(TOY, goal).proof is not None
    whole = proof._units

    def twice(instance: ElasticInstance) -> Any:
        units = whole(instance)
        return units._replace(capacity=[[2 * limit for limit in room] for room in units.capacity])

    monkeypatch.setattr(proof, "_units", twice)
    proof._all_runs.cache_clear()
    assert attempt(TOY, goal).reason == BETTER


def test_a_run_left_out_is_caught_by_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    hold_to_enumeration(TOY)
    whole = proof._undominated
    monkeypatch.setattr(proof, "_undominated", lambda *given: whole(*given)[1:])
    proof._all_runs.cache_clear()
    with pytest.raises(AssertionError):
        hold_to_enumeration(TOY)


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.tuples(*[st.sampled_from([0, 1, 2, 3, 10**9])] * 3), st.integers(1, 4), max_size=25
    )
)
def test_runs_are_left_out_if_another_is_no_worse(found: dict[tuple[int, ...], int]) -> None:
    place = proof.Place(0, (1,), -1, -1, 0)
    kept = proof._undominated({use: (slots, place) for use, slots in found.items()}, 3)
    runs = {(tuple(dict(run.use).get((0, r), 0) for r in range(3)), run.duration) for run in kept}
    assert len(runs) == len(kept)
    assert runs == {
        (use, slots)
        for use, slots in found.items()
        if not any(
            other != use
            and found[other] <= slots
            and all(a <= b for a, b in zip(other, use, strict=True))
            for other in found
        )
    }


def test_cuts_that_do_not_hold_are_refused() -> None:
    goal = proof.goal(TOY, best_schedule(TOY)[0])
    assert goal is not None
    model = proof.Model(TOY, goal + 20)
    model.write()
    first = [j for j, column in enumerate(model.columns) if column.job == 0]
    ends = [
        model.columns[j].start + model.jobs[0].runs[model.columns[j].run].duration for j in first
    ]
    early = first[ends.index(min(ends))]
    later = next(
        j for j, column in enumerate(model.columns) if column.job == 1 and column.start >= min(ends)
    )
    (entries, low, high) = model.kinds["clique"](model.program, {"columns": first})
    assert (entries, low, high) == (dict.fromkeys(first, 1), None, 1)
    faults = {
        "clique": [{}, {"columns": [early, later]}, {"columns": ["0"]},
                   {"columns": [-1]}, {"columns": [10**9]}, {"columns": [True]}],
        "slot": [{}, {"rows": [10**9], "worth": []}, {"rows": [2], "worth": [[[1, 1], 1]]},
                 {"rows": [2], "worth": [[[1], -1]]}, {"rows": [2], "worth": [1]}],
    }  # fmt: skip
    for kind, found in faults.items():
        for data in found:
            with pytest.raises(RefusedError):
                model.kinds[kind](model.program, data)


def test_a_slot_cut_counts_one_run_of_each_job() -> None:
    goal = proof.goal(TOY, best_schedule(TOY)[0])
    assert goal is not None
    model = proof.Model(TOY, goal)
    model.write()
    row = next(i for i in range(2, len(model.program.rows)))
    entries, _, high = model.program.rows[row]
    assert high is not None
    # Each run in this row is worth 1: two small runs fit together, but never three.
    cut, _, most = model.kinds["slot"](model.program, {"rows": [row], "worth": [[[1], 1]]})
    assert cut == dict.fromkeys(entries, 1)
    least = [min(a for j, a in entries.items() if model.columns[j].job == n) for n in (0, 1)]
    assert most == (2 if sum(least) <= high else 1)


@pytest.mark.parametrize(
    ("job", "fields", "run"),
    [
        pytest.param({"train_time": {"w1": 1 + 5e-7}}, {}, {}, id="V10: the work is short"),
        pytest.param(
            {"train_time": {"w1": 1.0}},
            {"servers": [{"id": "s1", "capacity": {"gpu": 1, "bandwidth": 1}},
                         {"id": "s2", "capacity": {"cpu": 1, "bandwidth": 1}}],
             "worker_types": [{"id": "w1", "demand": {"gpu": 1, "bandwidth": 1}}],
             "ps_types": [{"id": "p1", "demand": {"cpu": 1, "bandwidth": 1 - 5e-7}}]},
            {"ps": {"s2": 1}},
            id="V11: the bandwidth of a PS is short",
        ),
        pytest.param(
            {"train_time": {"w1": 1.0}},
            {"servers": [{"id": "s1", "capacity": {"gpu": 1 - 5e-7, "cpu": 8, "bandwidth": 6}}]},
            {},
            id="V13: a server is overfull by half of the tolerance",
        ),
        pytest.param(
            {"train_time": {"w1": 1.0}},
            {"servers": [{"id": "s1", "capacity": {"gpu": 31249999999.999996, "bandwidth": 6}}],
             "worker_types": [{"id": "w1", "demand": {"gpu": 31.25e9, "bandwidth": 1}}],
             "ps_types": [{"id": "p1", "demand": {"bandwidth": 3}}]},
            {},
            id="V13: a server is overfull by a unit in the last place",
        ),
        pytest.param(
            {"train_time": {"w1": 1.0}, "chunks": 3},
            {"servers": [{"id": "s1", "capacity": {"gpu": 1e12, "bandwidth": 6}}],
             "worker_types": [{"id": "w1", "demand": {"gpu": 1e12 / 3, "bandwidth": 1}},
                              {"id": "w2", "demand": {"gpu": 1, "bandwidth": 1}}],
             "ps_types": [{"id": "p1", "demand": {"bandwidth": 3}}]},
            {"workers": {"s1": 3}},
            id="V13: demands that are rounded fill a server",
        ),
    ],
)  # fmt: skip
def test_a_schedule_within_the_tolerances_of_the_rules_is_in_the_program(
    job: dict[str, Any], fields: dict[str, Any], run: dict[str, Any]
) -> None:
    instance = instance_of([{"update_time": {"p1": 0.0}} | job], **fields)
    held = {"worker_type": "w1", "ps_type": "p1", "workers": {"s1": 1}, "ps": {"s1": 1}} | run
    schedule = {"mode": "nonpreemptive", "jobs": {"j1": held | {"start": 1, "duration": 1}}}
    assert not list(rules.check(instance, schedule, {}))
    assert rules.objective(instance, schedule) == 2
    assert attempt(instance, 1).proof is not None
    false = attempt(instance, 2)
    assert false.proof is None
    assert false.reason == BETTER


def test_a_job_of_the_least_weight_is_not_rounded_away() -> None:
    """The heavy job ends too late, so the best schedule has the other one only."""
    heavy = {"weight": 1e12, "train_time": {"w1": 9.0}, "update_time": {"p1": 0.0}}
    light = {"weight": 1e-9, "train_time": {"w1": 1.0}, "update_time": {"p1": 0.0}}
    instance = instance_of([heavy, light], objective="scheduled_weight", deadline=3)
    assert best_schedule(instance)[0] == 1e-9
    goal = proof.goal(instance, 0.0)
    assert goal == -1
    false = attempt(instance, goal)
    assert false.proof is None
    assert false.reason == BETTER


@pytest.mark.parametrize(
    ("batch", "goal", "price"), [(False, 15, {1: 9}), (True, -8, {1: 4, 2: 6, 3: 5})]
)
def test_a_pool_leaves_out_just_the_starts_of_its_lemma(
    *, batch: bool, goal: int, price: dict[int, int]
) -> None:
    """Prices above all that a job of a batch is worth do not let L be more than 0 for it."""
    kind = {"objective": "scheduled_weight", "deadline": 5} if batch else {}
    server = {"id": "s1", "capacity": {"gpu": 1, "bandwidth": 12}}
    jobs = [{"train_time": {"w1": d}, "update_time": {"p1": 0.0}, "weight": w}
            for d, w in ((2.0, 3), (1.0, 2))]  # fmt: skip
    needs = {"worker_types": [{"id": "w1", "demand": {"gpu": 1, "bandwidth": 1}}],
             "ps_types": [{"id": "p1", "demand": {"bandwidth": 3}}]}  # fmt: skip
    instance = instance_of(jobs, servers=[server], **needs, **kind)
    model = proof.Model(instance, goal)
    o, costs = 1, {}
    for j, job in enumerate(model.jobs):
        (run,) = job.runs
        use = dict(run.use)[0, 0]
        for t in model.starts[j][0]:
            paid = sum(use * price.get(slot, 0) for slot in range(t, t + run.duration))
            costs[j, t] = o * model.cost(proof.Column(j, 0, t)) + paid
    least = [min(c for (i, _), c in costs.items() if i == j) for j in (0, 1)]
    if batch:
        least = [min(0, c) for c in least]
    slack = o * goal - sum(least) + sum(price.values()) * model.capacity[0][0]
    expected = [[t for (i, t), c in costs.items() if i == j and c - least[j] <= slack]
                for j in (0, 1)]  # fmt: skip
    model.reduce({"o": o, "p": [[0, 0, t, p] for t, p in price.items()]})
    assert [own for (own,) in model.starts] == expected


def test_runs_that_fill_a_server_exclude_no_other() -> None:
    server = {"id": "s1", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 12}}
    instance = instance_of([JOB] * 3, servers=[server])
    model = proof.Model(instance, 7)
    model.write()
    first = [j for j, column in enumerate(model.columns) if column.start == 1]
    assert len(first) == 3
    with pytest.raises(RefusedError, match="does not exclude"):
        model.kinds["clique"](model.program, {"columns": first[:2]})
    assert attempt(instance, 7).better is not None


# --- sizes and widths ----------------------------------------------------------------------------


def test_large_instances_are_refused_soon() -> None:
    paper = sg.generate("elastic", preset="paper", seed=1)
    assert isinstance(paper, ElasticInstance)
    job = {"train_time": {"w1": 0.5}, "update_time": {"p1": 0.0}}
    many = [
        {"id": name, "capacity": {"gpu": 10**9, "cpu": 10**9, "bandwidth": 10**9}}
        for name in ("s1", "s2")
    ]
    wide = instance_of([job | {"chunks": 10**9}], servers=many)
    dense = instance_of([job | {"chunks": 900}], servers=many)
    late = instance_of([job | {"weight": 1e-9}, job | {"weight": 1, "epochs": 10**9}])
    long = instance_of([job | {"epochs": 10**9}])
    for instance in (paper, wide, dense, late, long):
        with pytest.raises(RefusedError, match=r"too large|too many|more than"):
            proof.Model(instance, 10**20)
    with pytest.raises(RefusedError):
        proof.goal(wide, None)


JOB: dict[str, Any] = {"train_time": {"w1": 0.5}, "update_time": {"p1": 0.0}}
HOURS = JOB | {"train_time": {"w1": 5.0}}


def refusal(instance: ElasticInstance, goal: int, **parts: Any) -> str:
    data = {"vectors": [], "cuts": [], "tree": []} | parts
    begin = time.process_time()
    verdict = check_here(instance, proof_data(instance, goal, **data))
    assert time.process_time() - begin < 20
    assert verdict.status == "refused"
    return verdict.reason


def test_windows_without_end_are_refused() -> None:
    ages = JOB | {"train_time": {"w1": 1e12}, "epochs": 10**9, "batches_per_chunk": 10**9}
    assert "too large" in refusal(instance_of([ages, ages]), 10**100)


def test_late_arrivals_leave_the_same_program() -> None:
    """Slots before the first arrival do not count, nor do prices in them."""
    early = instance_of([HOURS | {"weight": 2}, JOB | {"arrival": 3}])
    late = instance_of([HOURS | {"weight": 2, "arrival": 10**6 + 1}, JOB | {"arrival": 10**6 + 3}])
    goal = 2 * 6 + 4
    models = proof.Model(early, goal), proof.Model(late, goal + 3 * 10**6)
    assert models[0].starts != [[], []]
    later = [[[t + 10**6 for t in own] for own in runs] for runs in models[0].starts]
    assert models[1].starts == later
    for price in (0, 5):
        for model, shift in zip(models, (0, 10**6), strict=True):
            model.reduce({"o": 1, "p": [[0, 0, t + shift, price + t] for t in (1, 2, 4)]})
        slack = models[1].reduce({"o": 1, "p": [[0, 0, 1, 10**9]]})  # nothing runs in slot 1
        assert slack == models[1].reduce({"o": 1, "p": []})
        later = [[[t + 10**6 for t in own] for own in runs] for runs in models[0].starts]
        assert models[1].starts == later
        assert any(own for runs in later for own in runs)


def test_a_cut_that_needs_too_much_memory_is_one_line() -> None:
    wide = instance_of([HOURS | {"weight": n} for n in (1, 2)] + [JOB | {"arrival": 300}])
    model = proof.Model(wide, 10**4)
    model.write()
    rows = list(range(3, len(model.program.rows))) * 100
    assert len(rows) * len(model.columns) > 10**8  # numbers in a table
    cut = {"why": "slot", "rows": rows, "worth": []}
    data = proof_data(wide, 10**4, vectors=[], cuts=[cut], tree=[])
    verdict = check_proof(wide, data, memory_mb=300)
    assert verdict.status == "unchecked"
    assert verdict.reason == "not checked within 300 MB of memory"


def test_a_cut_of_many_sums_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    goal = proof.goal(TOY, best_schedule(TOY)[0])
    assert goal is not None
    model = proof.Model(TOY, goal + 20)
    model.write()
    columns = [j for j, column in enumerate(model.columns) if column.job == 0]
    near = [model.cliques.near(j) for j in columns]
    monkeypatch.setattr(cuts, "MAX_CONFLICT_BITS", 0)  # only the last is cached
    model = proof.Model(TOY, goal + 20)
    model.write()
    assert [model.cliques.near(j) for j in columns] == near
    monkeypatch.setattr(cuts, "MAX_STEPS", 3)
    rows = [len(model.jobs)]
    with pytest.raises(RefusedError, match="too many sums of amounts"):
        model.kinds["slot"](model.program, {"rows": rows, "worth": [[[1], 1]] * 4})


def test_values_that_doubles_do_not_tell_apart_are_not_whole() -> None:
    """Near 2^52 units, the value of the later schedule would round down to the better one."""
    d = 66_903_010_171
    long = {"weight": 578.06, "train_time": {"w1": float(d)}, "update_time": {"p1": 0.0}}
    short = {"weight": 0.01, "train_time": {"w1": 1.0}, "update_time": {"p1": 0.0}}
    instance = instance_of([long, short])

    def schedule(start: int) -> dict[str, Any]:
        run = {"start": 1, "worker_type": "w1", "ps_type": "p1"}
        there = {server: {"workers": {server: 1}, "ps": {server: 1}} for server in ("s1", "s2")}
        jobs = {
            "j1": run | there["s1"] | {"duration": d},
            "j2": run | there["s2"] | {"start": start, "duration": 1},
        }
        return {"mode": "nonpreemptive", "jobs": jobs}

    assert not [*rules.check(instance, schedule(1), {}), *rules.check(instance, schedule(2), {})]
    better, worse = (rules.objective(instance, schedule(start)) for start in (1, 2))
    assert better < worse
    units = 57806 * (1 + d) + 2  # the better value, in units
    goal = proof.goal(instance, worse)
    assert goal is not None
    width = proof.within(instance, worse)
    assert goal >= units or better > worse * (1 - width)  # excluded, or within the width
    assert width == 5e-7
    plain = instance_of([long | {"weight": 1}, short | {"weight": 1}])
    assert proof.within(plain, 2.0**49) == 0


def test_weights_far_apart_leave_a_width_open() -> None:
    job = {"train_time": {"w1": 0.5}, "update_time": {"p1": 0.0}}
    plain = instance_of([job, job | {"weight": 2.5}])
    assert proof.within(plain, 7.0) == 0
    assert proof.goal(plain, 7.0) == 13  # halves
    apart = instance_of([job, job | {"weight": 1e9 + 1 / 3}])
    assert proof.within(apart, 2e9) == 5e-7
    goal = proof.goal(apart, 2e9)
    assert goal is not None
    assert 0 < 2 - goal * (1e9 + 1 / 3) / 1e18 < 1.1e-6
    hold_to_enumeration(apart)
