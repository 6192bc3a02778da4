"""The kernel of family `edge`: what is free is what the runs leave, and compiled it is the same."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.heuristics.kernel import KERNEL
from schedgap.models.edge.heuristics.list_search import GENES
from schedgap.models.edge.heuristics.lists import orders, place_all
from schedgap.models.edge.heuristics.partial_schedule import PartialSchedule
from schedgap.models.edge.rules import check
from schedgap.solvers.search.annealing import anneal
from strategies.edge import edge_instances
from strategies.kernels import compiled_entry, compiled_types
from strategies.toy_kernel import terms_of


@pytest.fixture(scope="module")
def compiled() -> Any:
    return compiled_entry(KERNEL)


def searched(run: Any, instance: EdgeInstance, seed: int, moves: int) -> tuple[Any, ...]:
    """Return runs after moves of each worker type, the best runs, and what is free."""
    partial = place_all(instance, orders(instance)["arrival"])
    best = []
    for t, (problem, state) in enumerate(zip(partial.problems, partial.states, strict=True)):
        plan, _ = anneal(
            run, problem, state, terms_of(state, GENES, 4, 0.5, 0.5), hot=0.3, cold=0.03,
            moves=moves, seed=seed,
        )  # fmt: skip
        best.append(partial.runs_of(t, plan))
    consistent(partial)
    return partial.runs, best, [state.free.tolist() for state in partial.states]


def consistent(partial: PartialSchedule) -> None:
    """Assert that the schedule keeps the rules, and that the state is what its runs make it."""
    data = partial.schedule().to_data(partial.instance)
    assert not [v for v in check(partial.instance, data, {}) if v.rule != "V1"]
    view = arrays(partial.instance)
    for problem, state in zip(partial.problems, partial.states, strict=True):
        u, pieces = view.worker_type[problem.job[0]], state.pieces[0]
        assert sorted(state.row) == list(range(len(state.row)))
        runs = [partial.runs[i] for i in problem.job.tolist() if i in partial.runs]
        ends = {1, *(run.start for run in runs), *(run.end + 1 for run in runs)}
        assert set(state.times[:pieces].tolist()) <= ends
        used_before = None
        for k, slot in enumerate(state.times[:pieces]):
            used = np.zeros(len(view.workers), dtype=int)
            for run in runs:
                if run.start <= slot <= run.end:
                    for s, count in run.workers:
                        used[s] += count
            free = (view.workers[:, u] - used)[problem.server]
            np.testing.assert_array_equal(free, state.free[state.row[k]])
            assert state.total[k] == free.sum() and list(used) != used_before
            used_before = list(used)
        held = np.zeros(view.ps.shape, dtype=int)
        for i, run in partial.runs.items():
            held[run.host, view.ps_type[i]] += 1
        np.testing.assert_array_equal(held, state.ps_held)
        np.testing.assert_array_equal((held >= view.ps).sum(axis=0), state.ps_scarce)


@settings(max_examples=25, deadline=None)
@given(edge_instances(max_jobs=6, max_servers=3, horizon=(8, 30), batch=None), st.integers(0, 99))
def test_what_is_free_is_what_the_runs_leave(instance: EdgeInstance, seed: int) -> None:
    searched(KERNEL.plain, instance, seed, 25)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(edge_instances(max_jobs=6, max_servers=3, horizon=(8, 30), batch=None), st.integers(0, 99))
def test_compiled_or_not_the_moves_are_the_same(
    compiled: Any, instance: EdgeInstance, seed: int
) -> None:
    assert searched(KERNEL.plain, instance, seed, 25) == searched(compiled, instance, seed, 25)
    assert compiled_types(compiled) == 1
