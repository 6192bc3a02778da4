"""Bounds of family `ring`: values by hand, validity against optima, and their certificates."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget, MethodResult, Progress, RunContext
from schedgap.models.ring import FAMILY
from schedgap.models.ring.bounds.certificates import KINDS, check_certificate
from schedgap.models.ring.bounds.configuration_lp import (
    ALONE,
    COMPANY,
    Levels,
    best_configurations,
    bound,
    facets,
    least_paid,
    levels,
    too_large,
)
from schedgap.models.ring.bounds.elementary import (
    area_bound,
    inside_slots,
    spread_slots,
    width_dff,
)
from schedgap.models.ring.bounds.pattern_lp import (
    Refutation,
    pattern_bound,
    refutes,
    server_classes,
)
from schedgap.models.ring.methods import METHODS
from schedgap.models.ring.rates import NEVER, no_schedule, rate_table
from schedgap.solvers.children.clock import Clock
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job

NAMES = ("bounds", "job-alone", "area", "configuration-lp", "pattern-lp")
BY_NAME = {method.name: method for method in METHODS if method.name in NAMES}


class Bounds(Progress):
    """Progress that records bounds."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float, certificate: object = None, **more: object) -> None:
        self.values.append(value)

    def phase(self, text: str) -> None: ...


def run(name: str, instance: RingInstance, clock: Clock | None = None) -> MethodResult:
    method = BY_NAME[name]
    call = RunContext({}, method.choose_engine(None), Budget(clock or Clock()), Bounds())
    return FAMILY.run(method, instance, call)


def slots(gpus: int, count: int, size: float = 0.0) -> Any:
    """Return a job of so many slots inside a server, at 10 iterations per slot.

    tau = 0.06 + 0.01 + 0.03 x gradient: 1 for the gradient of a ring of any size, by C and b^i.
    """
    chunk = 0.03 / (2 / 100 + 1 / 100)
    plain = size or (chunk * gpus / (gpus - 1) if gpus > 1 else 0.0)
    more = {} if gpus > 1 else {"backward_time": 0.05}
    return job("", gpus, 10 * count, plain, **more)


def of(jobs: list[Any], servers: list[int], **fields: Any) -> RingInstance:
    return instance_of([each | {"id": f"j{n}"} for n, each in enumerate(jobs)], servers, **fields)


def test_the_worked_examples() -> None:
    """W1: 4 each, 2 x 4 x 4 / 9 < 4. W2: 12 / 2 = 6. W3: 5 + 12 + 6 + 12 + 2 = 37, / 6 is 7."""
    for instance, expected in ((W1, (4, 4)), (W2, (3, 6)), (W3, (6, 7))):
        assert (run("job-alone", instance).bound, run("area", instance).bound) == expected
        trace = run("bounds", instance).trace
        assert max(trace[name] for name in ("longest", "area", "width-dff")) == max(expected)


def test_execution_times_of_the_two_modes() -> None:
    """W1: four workers on servers of 3: never inside, 24 / 7 on two. W3: rates 14, 10, 7, 6."""
    assert inside_slots(rate_table(W1)) == (NEVER, NEVER)
    assert spread_slots(rate_table(W1)) == (4, 4)
    assert inside_slots(rate_table(W3)) == (5, 6, 3, 3, 2)
    assert spread_slots(rate_table(W3)) == (NEVER, 9, 5, 5, NEVER)
    assert spread_slots(rate_table(of([slots(2, 1)], [4]))) == (NEVER,)  # there is one server


def test_jobs_that_exclude_each_other_take_their_turn() -> None:
    """Three jobs of 2 GPUs and 5 slots on 3: area 30 / 3 = 10, but k = 2 rounds 2 up to 3: 15."""
    instance = of([slots(2, 5)] * 3, [3])
    assert run("area", instance).bound == 10
    assert width_dff(rate_table(instance)) == (15, 2)
    assert run("bounds", instance).bound == optimum_of(instance) == 15


def test_a_size_of_just_k_counts() -> None:
    """Jobs of 4, 2 and 2 GPUs and 5 slots on 5: k = 2 gives (5 + 2 + 2) x 5 / 5, area 8."""
    instance = of([slots(4, 5), slots(2, 5), slots(2, 5)], [5])
    assert run("area", instance).bound == 8
    assert width_dff(rate_table(instance)) == (9, 2)


def optimum_of(instance: RingInstance) -> int:
    best = optimum(instance)
    assert best is not None
    return best


def test_patterns_see_that_two_jobs_do_not_fit_on_one_gpu() -> None:
    """Three jobs of 3 slots on 2 GPUs: 9 / 2 is 5; in 5 slots a GPU serves one of them: 6."""
    instance = of([slots(1, 3)] * 3, [2])
    assert run("bounds", instance).bound == 5
    found = run("pattern-lp", instance)
    assert found.bound == 6 and found.certificate is not None
    assert found.certificate["slots"] == 5


def test_long_horizons_are_taken_in_steps() -> None:
    """The same with 3000 slots: at 5999, in steps of 2, 1500 + 1500 exceed 2999; 6000 has room."""
    table = rate_table(of([slots(1, 3000)] * 3, [2], horizon=9000))
    assert refutes(table, Refutation(5999, (1, 1, 1)))
    assert not refutes(table, Refutation(6000, (1, 1, 1)))
    assert pattern_bound(table, 4500, 9001, Clock()) == 6000


def test_a_job_that_fills_a_server_is_inside_it() -> None:
    """4 GPUs on a server of 4: 5 slots; spread it makes no progress."""
    instance = of([slots(4, 5)], [4, 2], bandwidth_between=0.5)
    assert [kind.slots for kind in server_classes(rate_table(instance))] == [(5,), (NEVER,)]
    assert run("pattern-lp", instance).bound == 5


def test_one_pattern_serves_a_job_once() -> None:
    """A ring of 2 and 3 slots has its workers on two GPUs; patterns may not take it twice."""
    instance = of([slots(2, 3), slots(1, 3)], [2])
    assert server_classes(rate_table(instance))[0].gpus == 2
    assert run("pattern-lp", instance).bound == 6


def below(instance: RingInstance) -> None:
    """Check every bound against the optimum, and against its own certificate."""
    best = optimum(instance)
    values: dict[str, float] = {}
    for name in BY_NAME:
        found = run(name, instance)
        if found.infeasible:
            assert best is None, name
            continue
        assert found.bound is not None and found.certificate is not None
        assert check_certificate(instance, found.certificate) == found.bound, name
        assert best is None or found.bound <= best, name
        values[name] = found.bound
    if len(values) == len(BY_NAME):
        assert values["pattern-lp"] >= values["bounds"] >= max(values["area"], values["job-alone"])


@given(ring_instances(max_jobs=3, placeable=True))
@settings(max_examples=25, deadline=None)
def test_no_bound_exceeds_the_optimum(instance: RingInstance) -> None:
    below(instance)


def test_rings_that_must_share_slow_each_other() -> None:
    """W1: a ring needs 24 iterations, and makes 7 in a slot alone, 3 in company.

    Three slots alone and one in company are enough for each: 3 + 1 + 3 slots.
    """
    assert [(job.alone, job.company) for job in levels(rate_table(W1))] == [(7, 3)] * 2
    assert run("configuration-lp", W1).bound == run("bounds", W1).bound == optimum_of(W1) == 7
    assert run("area", W1).bound == 4


def test_rings_that_have_servers_of_their_own_do_not() -> None:
    """W1 on four servers: each ring is alone on two of them."""
    apart = of([dict(each.model_dump(exclude_none=True)) for each in W1.jobs], [3, 3, 3, 3])
    assert run("configuration-lp", apart).bound == optimum_of(apart) == 4


def test_levels_of_jobs_that_fit_into_a_server() -> None:
    """W3: as rings on two servers, of which W3 has two; a and e are single workers."""
    found = levels(rate_table(W3))
    assert [job.servers for job in found] == [0, 2, 2, 2, 0]
    assert [job.inside for job in found] == [5, 6, 3, 3, 2]
    assert [-(-job.required // job.alone) for job in found if job.servers] == [9, 5, 5]


@given(st.integers(1, 9), st.integers(0, 9), st.integers(1, 60))
def test_facets_hold_for_all_slots_of_a_ring_and_are_attained(
    alone: int, company: int, required: int
) -> None:
    job = Levels(NEVER, 2, alone, min(alone, company), required)
    most = -(-required // alone)
    points = [
        (a, b)
        for a, b in product(range(most + 1), range(required + 1))
        if job.alone * a + job.company * b >= required
    ]
    for u, v, w in facets(job):
        assert min(u * a + v * b for a, b in points) == w
        assert least_paid(job, (0, u, v)) == w


def test_what_a_long_ring_pays_exceeds_no_integer_of_the_machine() -> None:
    assert least_paid(Levels(NEVER, 2, 10**9, 1, 10**13), (0, 10**6, 10**6)) == 10**10


SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=4)
PAID = st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=4, max_size=4)


@given(SIZES, st.lists(st.integers(1, 4), min_size=2, max_size=4), PAID)
@settings(max_examples=150, deadline=None)
def test_the_best_configuration_is_that_of_an_enumeration(
    sizes: list[int], servers: list[int], paid: list[tuple[int, int, int]]
) -> None:
    """Of all sets of jobs with levels: the GPUs suffice, and rings alone have servers to spare."""
    instance = of([job("", size, 24, 4 / 3) for size in sizes], servers)
    if no_schedule(instance):
        return
    value = paid[: len(sizes)]
    table = rate_table(instance)
    best = 0
    options = [
        [
            None,
            *(
                level
                for level, usable in enumerate((job.inside != NEVER, job.servers, job.company))
                if usable
            ),
        ]
        for job in levels(table)
    ]
    for chosen in product(*options):
        gpus = sum(g for g, level in zip(table.size, chosen, strict=True) if level is not None)
        taken = sum(
            job.servers for job, level in zip(levels(table), chosen, strict=True) if level == ALONE
        )
        shared = sum(g for g, level in zip(table.size, chosen, strict=True) if level == COMPANY)
        left = sum(sorted(table.server_gpus)[taken:])
        room = left if len(table.server_gpus) - taken >= 2 else 0
        if gpus <= table.gpus and taken <= len(table.server_gpus) and shared <= room:
            worth = (v[level] for v, level in zip(value, chosen, strict=True) if level is not None)
            best = max(best, sum(worth))
    found = best_configurations(table, np.array(value))
    assert max(worth for worth, _ in found) == best
    for worth, configuration in found:
        assert worth == sum(value[j][level] for j, level in configuration)


@given(ring_instances(max_jobs=3, placeable=True), st.data())
@settings(max_examples=40, deadline=None)
def test_any_prices_of_slots_prove_a_bound(instance: RingInstance, data: st.DataObject) -> None:
    if no_schedule(instance) or too_large(rate_table(instance)):
        return
    best = optimum(instance)
    for _ in range(5):
        prices = [data.draw(st.tuples(*[st.integers(0, 20)] * 3)) for _ in instance.jobs]
        assert best is None or bound(rate_table(instance), prices) <= best


@pytest.mark.nightly
@given(ring_instances(max_jobs=4, placeable=True))
@settings(max_examples=300, deadline=None)
def test_no_bound_exceeds_the_optimum_on_many(instance: RingInstance) -> None:
    below(instance)


def test_a_bound_beyond_the_horizon_proves_that_there_is_no_schedule() -> None:
    """Three jobs of 3 slots on 2 GPUs, T = 5."""
    for name in BY_NAME:
        found = run(name, of([slots(1, 3)] * 3, [2], horizon=5))
        assert found.infeasible == (name == "pattern-lp")


@pytest.mark.parametrize("name", BY_NAME)
def test_what_cannot_be_scheduled_is_proved(name: str) -> None:
    assert run(name, of([slots(4, 1)], [3])).infeasible


def test_bounds_are_told_as_they_come() -> None:
    method, told = BY_NAME["pattern-lp"], Bounds()
    FAMILY.run(method, of([slots(1, 3)] * 3, [2]), RunContext({}, "highs", Budget(), told))
    assert told.values == [3, 5, 6]


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        ({"kind": "x"}, "need one of longest, area"),
        ({"kind": "longest", "job": "z"}, "does not fit the instance"),
        ({"kind": "width-dff", "k": 2}, "k is at most half of the GPUs, rounded up"),
        ({"kind": "pattern-lp", "slots": 6, "jobs": {"a": 1, "b": 1}}, "refute nothing"),
        ({"kind": "pattern-lp", "slots": 1, "jobs": {"z": 1}}, "no job z"),
        ({"kind": "configuration-lp", "jobs": {"z": [1, 1, 1]}}, "no job z"),
        ({"kind": "configuration-lp", "jobs": {"a": [1, 1]}}, r"jobs\.a"),
    ],
)
def test_a_certificate_that_proves_nothing_is_refused(
    certificate: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        check_certificate(W2, certificate)


WHOLE: dict[str, dict[str, Any]] = {
    "longest": {"job": "a"},
    "area": {},
    "width-dff": {"k": 0},
    "pattern-lp": {"slots": 5, "jobs": {"a": 3, "b": 3, "c": 2, "d": 2, "e": 2}},
    "configuration-lp": {"jobs": {"a": [1, 0, 0], "b": [1, 0, 0]}},
}
RUBBISH = (None, True, [], {}, [1], "", "z", -1, 1.5, math.nan, math.inf, 1e308, 10**400)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_rubbish_in_a_certificate_is_bad_input_or_proves_no_more(kind: str) -> None:
    """W2's optimum is 6."""
    whole = {"kind": kind} | WHOLE[kind]
    assert check_certificate(W2, whole) <= 6
    spoilt: list[dict[str, Any]] = [whole | {"more": 1}, {}, {"kind": []}, whole | {"value": "x"}]
    for key, content in WHOLE[kind].items():
        spoilt += [whole | {key: rubbish} for rubbish in RUBBISH]
        spoilt.append({each: whole[each] for each in whole if each != key})
        if isinstance(content, dict):
            spoilt += [whole | {key: content | {"a": rubbish}} for rubbish in RUBBISH]
            spoilt.append(whole | {key: dict.fromkeys(content, 1e308)})
    refused = 0
    for certificate in spoilt:
        try:
            assert check_certificate(W2, certificate) <= 6
        except InputError as error:
            refused += 1
            assert str(error).startswith("certificate") and "\n" not in str(error)  # noqa: PT017
    assert refused >= len(spoilt) / 2


def test_prices_of_every_size_are_evaluated_at_once() -> None:
    slots = {"kind": "pattern-lp", "slots": 10**9, "jobs": {"a": 2**61}}
    with pytest.raises(InputError, match="refute nothing"):
        check_certificate(W2, slots)


def test_a_certificate_is_evaluated_by_hand() -> None:
    """W2: prices 1 for the two jobs of 3 refute nothing in 3 slots, as each GPU takes one.

    Prices 3, 3, 2, 2, 2 in 5 slots: jobs ask for 12, two GPUs serve 5 each.
    """
    assert not refutes(rate_table(W2), Refutation(3, (1, 1, 0, 0, 0)))
    prices = dict(zip("abcde", (3, 3, 2, 2, 2), strict=True))
    certificate = {"kind": "pattern-lp", "slots": 5, "jobs": prices}
    assert check_certificate(W2, certificate) == 6
    assert area_bound(rate_table(W2), (1, 1, 1, 1, 1)) == 6
