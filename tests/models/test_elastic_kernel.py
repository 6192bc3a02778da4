"""The kernel of family `elastic`, compiled: the same lists and moves as uncompiled."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.analysis.runners import runner
from schedgap.analysis.runners.request import Request
from schedgap.analysis.runners.runner import NamedMethod
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.generate import generate
from schedgap.models.elastic import FAMILY
from schedgap.models.elastic.bounds import kernel as pricing
from schedgap.models.elastic.bounds.compiled_pricing import CompiledPricer
from schedgap.models.elastic.bounds.container_prices import (
    ContainerPricer,
    ContainerPrices,
    containers,
)
from schedgap.models.elastic.bounds.kernel import PRICING
from schedgap.models.elastic.heuristics import kernel
from schedgap.models.elastic.heuristics.kernel import KERNEL
from schedgap.models.elastic.heuristics.list_schedules import wspt_order
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.methods import METHODS
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.time_windows import no_schedule
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers.children.processes import ChildResult
from schedgap.solvers.search.annealing import anneal, insert_all
from schedgap.solvers.search.compiled import Kernel
from strategies.elastic import elastic_instances
from strategies.elastic_examples import TOY
from strategies.kernels import compiled_entry, compiled_types
from strategies.toy_kernel import terms_of

SLOTS = 60
PLACEABLE = elastic_instances(
    max_jobs=6, objective="weighted_completion", placeable=True, policy="open"
)


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compiled_entry(KERNEL)


@pytest.fixture(scope="module")
def compiled_price() -> Any:
    return compiled_entry(PRICING)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(PLACEABLE, st.integers(0, 2**31))
def test_compiled_or_not_lists_and_moves_are_the_same(
    compiled: Any, instance: ElasticInstance, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    kinds = (
        instance.worker_types if instance.is_ring else (*instance.worker_types, *instance.ps_types)
    )
    upto = np.cumsum(rng.random((len(kinds), SLOTS // 2)), axis=1)
    genes, order = rng.random((4, 2)), wspt_order(instance)
    # As in a batch: at most 12 slots, and a job may be left out.
    weight, may_leave_out = PartialSchedule(instance, 1).problem.weight, rng.random() < 0.5
    left_out = weight if may_leave_out else np.full(len(weight), np.inf)
    found = []
    for run in (KERNEL.plain, compiled):
        made = PartialSchedule(instance, 12 if may_leave_out else SLOTS, upto)
        problem = made.problem._replace(left_out=left_out)
        listed = insert_all(run, problem, made.state, order, (0.5, 0.5))
        assert listed == len(order)
        best, _ = anneal(
            run, problem, made.state, terms_of(made.state, genes, 4), hot=0.2, cold=0.01,
            moves=40, seed=seed,
        )  # fmt: skip
        found.append((made.runs(), made.runs(best), made.state.free))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_array_equal(found[0][2], found[1][2])
    assert compiled_types(compiled) == 1


@pytest.mark.slow
def test_exact_searches_before_it_asks_for_proofs(
    compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And again after them: no stage answers here, but each hears the incumbent."""
    settings = {"jobs": 25, "objective": "scheduled_weight", "deadline": 20}
    instance = generate("elastic", preset="medium", seed=23, settings=settings)
    heard = list[float]()
    monkeypatch.setattr(
        SearchState,
        "child",
        lambda state, *args, **more: heard.append(state.schedule.value(instance)),
    )
    (exact,) = (method for method in METHODS if method.name == "exact")
    first, last = list[float](), list[float]()
    for moves in (0, 100):
        monkeypatch.setattr("schedgap.models.elastic.exact.exact.MOVES", moves)
        heard.clear()
        FAMILY.run(exact, instance, RunContext({}, "highs", Budget(), NullProgress()))
        first.append(heard[0])
        last.append(heard[-1])
    assert first[0] < first[1]
    assert first[0] < last[0]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(elastic_instances(max_jobs=6), st.integers(0, 2**31))
def test_compiled_or_not_the_cheapest_runs_are_the_same(
    compiled_price: Any, instance: ElasticInstance, seed: int
) -> None:
    """At equal cost, NumPy may return another run."""
    if no_schedule(instance):
        return
    rng = np.random.default_rng(seed)
    edges = np.unique([0, *rng.integers(1, 12, 3), 12])
    prices = ContainerPrices(
        edges, rng.random((len(containers(cluster(instance))), len(edges) - 1))
    )
    pricers = (
        ContainerPricer(instance),
        CompiledPricer(instance, PRICING.plain),
        CompiledPricer(instance, compiled_price),
    )
    least, runs = zip(*(pricer.price_jobs(prices) for pricer in pricers), strict=True)
    np.testing.assert_array_equal(least[0], least[2])
    np.testing.assert_array_equal(least[1], least[2])
    assert runs[1] == runs[2]
    assert [[run.cost for run in own] for own in runs[0]] == [
        [run.cost for run in own] for own in runs[2]
    ]
    assert compiled_types(compiled_price) == 1


def large_and_waiting(folder: Path, given: Kernel = KERNEL) -> Kernel:
    """A kernel, not compiled in an empty folder, with every instance a large one."""
    made = replace(given, large=lambda instance: True)
    made.__dict__["folder"] = folder
    return made


def test_a_method_waits_for_its_kernel_before_its_clock_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called, phases = list[str](), list[Any]()

    def child(function: str, *arguments: Any, **terms: Any) -> ChildResult:
        called.append(function.partition(":")[2])
        return ChildResult("timeout")

    monkeypatch.setattr(runner, "run_child", child)
    task = NamedMethod("lp-guided").prepare(TOY, Request())
    task.run(phases.append)
    assert called == ["run_method"] and not phases  # small: the toy needs no compiled code
    monkeypatch.setattr(kernel, "KERNEL", large_and_waiting(tmp_path))
    task.run(phases.append)
    assert called[1:] == ["compile_kernel", "run_method"]
    assert phases == [("phase", 0.0, "compiling code, once on this machine")]
    phases.clear()
    monkeypatch.setattr(pricing, "PRICING", large_and_waiting(tmp_path / "2", PRICING))
    task.run(phases.append)
    assert [text for _, _, text in phases] == [
        f"compiling code, once on this machine ({number} of 2)" for number in (1, 2)
    ]


def test_where_compiling_fails_it_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk would else take half a minute from each task."""
    called = list[str]()

    def child(function: str, *arguments: Any, **terms: Any) -> ChildResult:
        called.append(function.partition(":")[2])
        return ChildResult("error", error="no space left on device")

    monkeypatch.setattr(runner, "run_child", child)
    made = large_and_waiting(tmp_path)
    monkeypatch.setattr(kernel, "KERNEL", made)
    task = NamedMethod("lp-guided").prepare(TOY, Request())
    for _ in range(2):
        task.run()
    assert called == ["compile_kernel", "run_method", "run_method"]
    assert made.fast is made.plain
