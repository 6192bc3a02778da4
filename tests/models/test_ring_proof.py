"""Proofs of ring optima: the search space of `proof.py` against enumeration."""

import copy
import json
import math
import random
import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget
from schedgap.models.proofs import check_here, proof_data, search_again
from schedgap.models.ring import proof, rules
from schedgap.models.ring.exact.prove import prove_goal
from schedgap.models.ring.proof import Region, RingSpace, Running
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import RefusedError, check_tree
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job


@st.composite
def crowded_instances(draw: st.DrawFn, max_jobs: int = 4) -> RingInstance:
    """Draw jobs of which few run at the same time, some of them alike, mostly over servers."""
    rooms = draw(
        st.sampled_from(
            [[3, 3], [2, 3], [2, 2], [2, 2, 2], [3, 2, 2], [3, 3, 3], [4, 2], [1, 1, 1], [2, 2, 1]]
        )
    )
    jobs: list[dict[str, Any]] = []
    for n in range(draw(st.integers(2, max_jobs))):
        if jobs and draw(st.integers(0, 3)) == 0:
            jobs.append(draw(st.sampled_from(jobs)) | {"id": f"j{n}"})
            continue
        size, data = draw(st.integers(1, min(5, sum(rooms)))), draw(st.sampled_from([0, 1, 4 / 3]))
        forward = draw(st.sampled_from([0.02, 0.03, 0.05, 0.1, 1 / 3]))
        times = {"batch_size": 1, "forward_time_per_sample": forward, "backward_time": 0.02}
        jobs.append(job(f"j{n}", size, draw(st.integers(4, 40)), data, **times))
    return instance_of(
        jobs,
        rooms,
        horizon=draw(st.sampled_from([9, 40])),
        contention_factor=draw(st.sampled_from([0.5, 1.0])),
        degradation={
            "kind": draw(st.sampled_from(["linear", "power"])),
            "alpha": draw(st.sampled_from([0.0, 0.5, 1.5, 3.0])),
        },
        bandwidth_between=draw(st.sampled_from([10.0, 20.0, 40.0])),
        overhead_per_server=draw(st.sampled_from([0.0, 0.01, 0.05])),
        rate_scale=draw(st.sampled_from([1, 1, 3, 7])),
    )


def space_of(instance: RingInstance, goal: int) -> RingSpace:
    return proof.space(instance, goal, {"cuts": []})


def proved(instance: RingInstance, goal: int) -> dict[str, Any]:
    """Return the data of a proof, as read from a file."""
    found = prove_goal(instance, goal, budget=Budget(Clock(120)))
    assert found.reason == ""
    assert found.proof is not None
    data = proof_data(
        instance, goal, vectors=found.proof.vectors, cuts=found.proof.cuts, tree=found.proof.tree
    )
    read: dict[str, Any] = json.loads(json.dumps(data))
    return read


def first_schedule(space: RingSpace, most: int = 1_000_000) -> list[Region] | None:
    """Return the regions around a schedule, the outermost first, found without any prices."""
    stack: list[list[Region]] = [[space.root()]]
    for _ in range(most):
        if not stack:
            return None
        path = stack.pop()
        if space.excess(path[-1], {}) is None:
            continue
        if space.is_schedule(path[-1]):
            return path
        stack += [[*path, part] for part in reversed(space.split(path[-1], ["next"]))]
    raise AssertionError("too large for a search without prices")


def hold_to_enumeration(instance: RingInstance, prices: list[int]) -> None:
    best = optimum(instance)
    goal = proof.goal(instance, best)
    data = proved(instance, goal)
    assert check_here(instance, data).status == "proved"
    assert first_schedule(space_of(instance, goal)) is None
    searched = proof.search(instance, goal, seconds=60)
    assert (searched.complete, searched.better) == (True, None)
    if best is None:
        return
    # No claim that excludes the optimum can be proved: all searches find a schedule.
    assert (
        prove_goal(instance, best, budget=Budget(Clock(120))).reason == "a better schedule exists"
    )
    assert check_here(instance, data | {"goal": best}).status == "refused"
    better = proof.search(instance, best, seconds=60).better
    assert list(rules.check(instance, better, {})) == []
    assert rules.objective(instance, better) == best
    space = space_of(instance, best)
    path = first_schedule(space)
    assert path is not None
    schedule = space.schedule(instance, path[-1])
    assert list(rules.check(instance, schedule, {})) == []
    # Whatever the prices, they close no region around a schedule.
    modes = [(j, n) for j in range(len(instance.jobs)) for n in range(1, 4)]
    entries = [
        [j, n, prices[i % len(prices)], prices[(3 * i + 1) % len(prices)]]
        for i, (j, n) in enumerate(modes)
    ]
    for vector in ({"p": entries}, space.simple_prices()):
        for region in path:
            excess = space.excess(region, vector)
            assert excess is not None
            assert excess <= 0


DRAWN = st.one_of(
    crowded_instances(), ring_instances(max_jobs=3, max_slots=4), ring_instances(max_slots=4)
)
PRICES = st.lists(st.integers(0, 50), min_size=5, max_size=11)


@settings(max_examples=35, deadline=None)
@given(DRAWN, PRICES)
def test_optima_are_proved_and_nothing_else(instance: RingInstance, prices: list[int]) -> None:
    hold_to_enumeration(instance, prices)


@pytest.mark.nightly
@settings(max_examples=4000, deadline=None)
@given(st.one_of(DRAWN, crowded_instances(5)), PRICES)
def test_thousands_of_optima_are_proved(instance: RingInstance, prices: list[int]) -> None:
    hold_to_enumeration(instance, prices)


def plain_missing(space: RingSpace, region: Region, price: dict[tuple[int, int], Any]) -> int:
    """Return the worth that jobs need, less the most that each slot can be worth, one by one."""
    slots, total = space.goal - region.slot + 1, 0
    for j in region.waiting:
        needs = [
            price[j, n][0] * space.jobs[j].need + price[j, n][1] * int(length)
            for n, length in space.jobs[j].alone
            if length <= slots
        ]
        total += min(needs)
    length = {}
    for j, left, n, _ in region.running:
        length[j, n] = math.ceil(Fraction(left, space.jobs[j].rate[n - 1][0]))
        total += price[j, n][0] * left + price[j, n][1] * length[j, n]
    for t in range(1, slots + 1):
        runs_on = {mode for mode, last in length.items() if t <= last}
        total -= max(
            sum(
                price[j, n][0] * space.jobs[j].rate[n - 1][p - 1] + price[j, n][1]
                for j, n, p in active
            )
            for active in space.configurations
            if runs_on <= {(j, n) for j, n, _ in active}
        )
    return total


@settings(max_examples=55)
@given(DRAWN, st.integers(0, 2**32))
def test_the_bound_of_a_region_is_that_of_its_slots_one_by_one(
    instance: RingInstance, seed: int
) -> None:
    rng = random.Random(seed)
    modes = [(j, n) for j in range(len(instance.jobs)) for n in range(1, 7)]
    space = space_of(instance, min(12, instance.horizon))
    region = space.root()
    while space.excess(region, {}) is not None:
        price = {mode: (rng.randint(0, 9), rng.choice([0, 5, 10**30])) for mode in modes}
        vector = {"p": [[j, n, a, b] for (j, n), (a, b) in price.items()]}
        assert space.excess(region, vector) == plain_missing(space, region, price)
        if region.asked == len(region.waiting) or not (parts := space.split(region, ["next"])):
            break
        region = rng.choice(parts[1:] or parts)  # most jobs start as soon as they can


def test_worked_bound_of_jobs_that_end_at_different_times() -> None:
    """Jobs of 5, 2 and 3 slots, two at a time: until the first ends, then the second, then none."""
    times = {"batch_size": 1, "forward_time_per_sample": 0.5, "backward_time": 0.5}
    jobs = [job(f"j{n}", 1, slots, **times) for n, slots in enumerate((5, 2, 3))]
    instance = instance_of(jobs, [2], overhead_per_server=0.0, horizon=30)
    space = space_of(instance, 6)
    both = Region(1, (Running(0, 5, 1, (1,)), Running(1, 2, 1, (1,))), (2,), 1, None, (False,))
    vector = {"p": [[0, 1, 0, 1], [1, 1, 0, 2], [2, 1, 0, 4]]}
    # Worth 5 + 4 + 12, in two slots of 1 + 2, three of 1 + 4, and one of 2 + 4.
    assert space.excess(both, vector) == 21 - (2 * 3 + 3 * 5 + 6)
    assert plain_missing(space, both, {(j, 1): (0, 2**j) for j in range(3)}) == -6


@pytest.mark.parametrize(("instance", "best"), [(W1, 7), (W2, 6), (W3, 8)])
def test_worked_examples(instance: RingInstance, best: int) -> None:
    hold_to_enumeration(instance, [1, 0, 2, 5, 3])
    assert optimum(instance) == best


def test_a_spread_job_may_start_where_nothing_ends() -> None:
    schedule = proof.search(W1, 7, seconds=60).better
    assert schedule is not None
    starts = {row["job"]: row["start"] for row in schedule["jobs"]}
    assert starts == {"a": 1, "b": 4}


@settings(max_examples=65)
@given(DRAWN)
def test_rates_are_those_of_the_rules(instance: RingInstance) -> None:
    for own, rates in zip(instance.jobs, space_of(instance, 1).jobs, strict=True):
        for n, row in enumerate(rates.rate, 1):
            for p, rate in enumerate(row, 1):
                assert rate == rules._iterations_per_slot(instance, own, n, 0 if n == 1 else p)


def test_a_rate_just_below_a_whole_number_counts_as_it() -> None:
    times = {"batch_size": 1, "forward_time_per_sample": 0.05, "backward_time": 0.01}
    fields = {"overhead_per_server": 0.0, "rate_scale": 3}
    instance = instance_of([job("a", 1, 49, **times)], [1], **fields)
    assert 3 / (0.05 + 0.01) < 50
    assert space_of(instance, 1).jobs[0].rate == ((50,),)


def test_no_schedule_ends_after_the_horizon() -> None:
    short = W1.replace(horizon=6)
    assert proof.search(W1, 20, seconds=60).better is not None
    searched = proof.search(short, 20, seconds=60)
    assert (searched.complete, searched.better) == (True, None)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_small_presets_are_proved(seed: int) -> None:
    best = {1: 13, 2: 11, 3: 15, 4: 19}[seed]
    instance = sg.generate("ring", preset="small", seed=seed)
    assert isinstance(instance, RingInstance)
    verdict = check_here(instance, proved(instance, best - 1))
    assert verdict.status == "proved"
    assert verdict.checked is not None
    assert verdict.checked.nodes < 5000


def test_a_job_that_fits_nowhere_or_never_ends_needs_no_prices() -> None:
    large, slow = job("a", 4, 24, 4 / 3), {"bandwidth_between": 0.5}
    for instance in (instance_of([large], [3]), instance_of([large], [3, 3], **slow)):
        assert proof.goal(instance, None) == instance.horizon
        data = proved(instance, instance.horizon)
        assert data["tree"] == [{"empty": True}]
        assert check_here(instance, data).status == "proved"


def test_a_configuration_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = proved(W3, 7)
    assert check_here(W3, data).status == "proved"
    whole = RingSpace._configurations

    def fewer(space: RingSpace) -> Any:
        return [active for active in whole(space) if len(active) < 2]

    with monkeypatch.context() as patch:
        patch.setattr(RingSpace, "_configurations", fewer)
        wrong = proved(W3, 8)  # an optimal schedule runs two jobs at once
    assert check_here(W3, wrong).status == "refused"


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ({"p": [[0, 1, -1, 0]]}, "prices are >= 0"),
        ({"p": [[0, 1, 1, 0], [0, 1, 1, 0]]}, "given once"),
        ({"p": [[0, 1, 1.0, 0]]}, "whole number"),
        ({"p": [[0, 1, 1]]}, "needs"),
        ({"p": 3}, "needs a list"),
        ({"o": 1, "d": []}, "needs a list"),
    ],
)
def test_prices_of_another_form_are_refused(vector: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        check_tree(space_of(W3, 7), {"vectors": [vector], "tree": [{"v": 0}]})


def test_branches_of_another_form_are_refused() -> None:
    for branch in (["last"], ["next", 1], []):
        with pytest.raises(RefusedError, match="a branch is"):
            check_tree(space_of(W3, 7), {"vectors": [], "tree": [{"b": branch}]})


def test_a_part_without_a_node_is_refused() -> None:
    instance = sg.generate("ring", preset="small", seed=2)
    assert isinstance(instance, RingInstance)
    data = proved(instance, 10)
    assert len(data["tree"]) > 100
    for cut in (data["tree"][:-1], [{"b": ["next"]}], [*data["tree"], {"v": 0}]):
        assert check_here(instance, data | {"tree": cut}).status == "refused"


def tampered(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """Return a proof with one thing changed."""
    data = copy.deepcopy(data)
    tree, prices = data["tree"], rng.choice(data["vectors"])["p"]
    place, entry = rng.randrange(len(tree)), rng.choice(prices)
    match rng.randrange(6):
        case 0:
            del tree[place]
        case 1:
            tree.insert(place, copy.deepcopy(rng.choice(tree)))
        case 2:
            tree[place] = {"v": rng.randrange(-1, len(data["vectors"]) + 1)}
        case 3:
            tree[place] = rng.choice([{"b": ["next"]}, {"empty": True}, {"b": ["next"], "v": 0}])
        case 4:
            entry[rng.randrange(4)] += rng.choice([-1, 1, 7, -1000, 10**30, 0.5])
        case _:
            prices[:] = rng.choice([prices[1:], [*prices, entry], [], [entry]])
    return data


def hold_tampering_to_the_truth(number: int) -> None:
    rng = random.Random(number)
    instance = sg.generate("ring", preset="small", seed=11)
    assert isinstance(instance, RingInstance)
    data = proved(instance, 22)
    true = 0
    for _ in range(number):
        changed = tampered(rng, data)
        true += check_here(instance, changed).status == "proved"
        assert check_here(instance, changed | {"goal": 23}).status == "refused"
    assert 0 < true < number / 2  # some prices close the same parts


def test_no_tampering_proves_a_false_claim() -> None:
    hold_tampering_to_the_truth(25)


@pytest.mark.nightly
def test_thousands_of_tamperings_prove_no_false_claim() -> None:
    hold_tampering_to_the_truth(5000)


@pytest.mark.parametrize("preset", ["paper", "medium"])
def test_large_instances_are_refused_soon(preset: str) -> None:
    instance = sg.generate("ring", preset=preset, seed=1)
    assert isinstance(instance, RingInstance)
    start = time.process_time()
    with pytest.raises(RefusedError, match=r"^/model"):
        space_of(instance, 100)
    assert search_again(instance, 100, seconds=60) is None
    assert time.process_time() - start < 10


def test_many_servers_and_huge_jobs_are_refused_soon() -> None:
    start = time.process_time()
    for jobs, servers in (
        ([job("a", 100_000, 24)], [100_000] * 10),
        ([job(f"j{n}", 300, 24) for n in range(9)], [1000] * 9),
        ([job("a", 9, 24)], [1] * 1000),
        ([job(f"j{n}", 50, 24, 1.0) for n in range(100)], [100] * 90),
    ):
        with pytest.raises(RefusedError, match=r"^/model"):
            space_of(instance_of(jobs, servers), 30)
    assert time.process_time() - start < 10
