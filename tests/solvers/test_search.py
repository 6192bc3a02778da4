"""The search that families share: on one machine, compiled and not, and what is stored where."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.solvers.search import compiled, moves
from schedgap.solvers.search.annealing import anneal, insert_all
from schedgap.solvers.search.compiled import Kernel
from strategies import toy_kernel
from strategies.toy_kernel import KERNEL, one_machine, terms_of

JOBS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=2, max_size=7)


@pytest.fixture(scope="module")
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    """The kernel of the toy in a separate folder; compiled again if the code of kernels changes."""
    code = hashlib.sha256(Path(compiled.__file__).read_bytes()).hexdigest()
    cache = getattr(request.config, "cache", None)  # none with `-p no:cacheprovider`
    folder = tmp_path_factory.mktemp("cache")
    kept = cache.mkdir(f"kernels-{code[:16]}") if cache else tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "user_cache_dir", lambda name: str(kept))
        first = replace(KERNEL)
        first.compile()
        assert first.is_ready and first.folder is not None
        shutil.copytree(first.folder, folder / first.folder.name)
        patch.setattr(compiled, "user_cache_dir", lambda name: str(folder))
        made = replace(KERNEL)
        assert made.is_ready
        made.fast  # noqa: B018 - from the folder
        yield made


def searched(
    run: Callable[..., int],
    jobs: list[tuple[int, int]],
    seed: int,
    most_moves: int,
    chances: tuple[float, ...] = (),
    hot: float = 0.5,
    **more: Any,
) -> tuple[Any, Any, list[float]]:
    """Search from the list in the given order; return the state, the best plan and its values."""
    problem, state = one_machine([float(w) for w, _ in jobs], [p for _, p in jobs])
    assert insert_all(run, problem, state, range(len(jobs)), [0.0]) == len(jobs)
    values = [float(state.plan.cost.sum())]
    best, made = anneal(
        run, problem, state, terms_of(state, np.array([[0.0], [3.0]]), 4, *chances), hot=hot,
        cold=hot / 50, moves=most_moves, seed=seed,
        on_better=lambda plan, value: values.append(value), **more,
    )  # fmt: skip
    assert made <= most_moves
    return state, best, values


@settings(max_examples=40, deadline=None)
@given(JOBS, st.integers(0, 2**31), st.integers(0, 60), st.sampled_from([0.0, 0.5, 1.0]))
def test_compiled_or_not_the_result_is_the_same(
    kernel: Kernel, jobs: list[tuple[int, int]], seed: int, moves: int, share: float
) -> None:
    plain, fast = (
        searched(run, jobs, seed, moves, (share, share)) for run in (kernel.plain, kernel.fast)
    )
    for one, other in zip(plain[0].plan + plain[1], fast[0].plan + fast[1], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(plain[0].busy, fast[0].busy)


@settings(max_examples=30, deadline=None)
@given(JOBS, st.integers(0, 2**31), st.sampled_from([0.0, 0.5, 1.0]))
def test_jobs_never_overlap_and_the_best_plan_is_kept(
    jobs: list[tuple[int, int]], seed: int, share: float
) -> None:
    state, best, values = searched(KERNEL.plain, jobs, seed, 50, (share, share))
    for plan in (state.plan, best):
        busy = np.zeros(toy_kernel.SLOTS, dtype=int)
        for (weight, length), start, end, cost in zip(jobs, *plan, strict=True):
            assert end - start == length and cost == weight * end
            busy[int(start) : int(end)] += 1
        assert busy.max() == 1
        if plan is state.plan:
            np.testing.assert_array_equal(busy, state.busy)
    assert values == sorted(values, reverse=True)
    assert best.cost.sum() == values[-1] <= state.plan.cost.sum()


@settings(max_examples=30, deadline=None)
@given(JOBS, st.integers(0, 2**31))
def test_without_heat_no_move_makes_a_plan_worse(jobs: list[tuple[int, int]], seed: int) -> None:
    state, best, _ = searched(KERNEL.plain, jobs, seed, 50, hot=1e-12)
    assert state.plan.cost.sum() == pytest.approx(best.cost.sum(), rel=1e-9)


def test_the_search_finds_the_optimum_of_a_few_jobs() -> None:
    """Smith's rule gives it: weight over length; the list begins with the reverse."""
    jobs = sorted([(9, 2), (7, 1), (1, 5), (4, 4), (5, 3)], key=lambda job: job[0] / job[1])
    least = min(
        sum(w * sum(p for _, p in order[: i + 1]) for i, (w, _) in enumerate(order))
        for order in permutations(jobs)
    )
    for shifts in (0.0, 1.0):
        _, _, values = searched(KERNEL.plain, jobs, 1, 400, (shifts,))
        assert values[0] > values[-1] == least
    _, _, values = searched(KERNEL.plain, jobs, 1, 10**9, target=float(least))
    assert values[-1] == least  # the search ends there
    looks = iter([False, False, True])
    searched(KERNEL.plain, jobs, 1, 10**9, stop=lambda: next(looks))


def test_a_list_ends_at_the_first_job_that_does_not_fit() -> None:
    assert insert_all(KERNEL.plain, *one_machine([1.0] * 3, [30, 20, 5]), range(3), [0.0]) == 1


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(6)), st.integers(0, 5), st.integers(0, 2**31))
def test_an_order_move_shifts_one_job_and_places_those_behind_again(
    order: list[int], delayed: int, seed: int
) -> None:
    problem, state = one_machine([1.0] * 6, [1] * 6)
    state.plan.cost[:] = problem.alone
    state.plan.cost[delayed] += 5.0
    chosen, rng = np.full(6, -1), np.random.default_rng(seed)
    job, first, number = moves.shift(problem, state.plan, np.array(order), rng, chosen)
    after = [*order[:first], *chosen[:number].tolist()]
    assert [j for j in after if j != job] == [j for j in order if j != job]
    assert sorted(after) == list(range(6)) and number == 6 - first
    here, there = order.index(job), after.index(job)
    assert there >= here or job == delayed  # only a job that loses something moves forward
    assert here != there or there in (0, 5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=12), st.integers(1, 12))
def test_the_first_of_a_stable_sort_are_put_in_place(keys: list[int], most: int) -> None:
    sorted_keys, items, number = np.empty(most), np.empty(most, np.int64), 0
    for item, key in enumerate(keys):
        number = moves.put(sorted_keys, items, number, most, key, item)
    assert items[:number].tolist() == np.argsort(keys, kind="stable")[:most].tolist()


@pytest.mark.parametrize("shifts", [0.0, 1.0])
def test_a_move_that_is_undone_leaves_order_and_genes(shifts: float) -> None:
    def refuse(problem: Any, state: Any, j: int, gene: Any, spare: float, rng: Any) -> bool:
        return spare == np.inf and toy_kernel.insert(problem, state, j, gene, spare, rng)

    refuse.__name__ = "insert"
    run = replace(
        KERNEL, functions=(toy_kernel.copy, toy_kernel.apply, refuse, *moves.GENERIC)
    ).plain
    problem, state = one_machine([1.0, 2.0, 3.0], [1, 2, 3])
    insert_all(run, problem, state, range(3), [0.0])
    busy, order, gene = state.busy.copy(), np.array([2, 0, 1]), np.array([1, 0, 1])
    terms = moves.Terms(order, gene, np.zeros((3, 1)), 3, shifts)
    anneal(run, problem, state, terms, hot=1.0, cold=1.0, moves=20)
    assert order.tolist() == [2, 0, 1] and gene.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(state.busy, busy)


def test_a_job_keeps_the_gene_by_which_it_was_inserted() -> None:
    """In a move that shifts a job, only this one draws another gene."""
    problem, state = one_machine([1.0] * 4, [1] * 4)
    insert_all(KERNEL.plain, problem, state, range(4), [0.0])
    terms, changed = terms_of(state, 9, 2, 1.0), 0
    for seed in range(20):
        before = terms.gene.copy()
        anneal(KERNEL.plain, problem, state, terms, hot=9.0, cold=9.0, moves=1, seed=seed)
        assert (terms.gene != before).sum() <= 1
        changed += int((terms.gene != before).any())
    assert changed > 9 and sorted(terms.order.tolist()) == [0, 1, 2, 3]


def test_reports_take_a_tenth_of_the_time_and_the_last_one_is_made() -> None:
    jobs = [(j + 1, 2) for j in range(8)]
    seen: list[float] = []

    def report(plan: Any, value: float) -> None:
        seen.append(value)
        time.sleep(0.05)

    problem, state = one_machine([float(w) for w, _ in jobs], [p for _, p in jobs])
    insert_all(KERNEL.plain, problem, state, range(8), [0.0])
    best, _ = anneal(
        KERNEL.plain, problem, state, terms_of(state, 1, 4), hot=0.1, cold=0.001, moves=300,
        on_better=report,
    )  # fmt: skip
    assert len(seen) <= 3 and seen[-1] == best.cost.sum()


def test_another_process_loads_what_is_stored(kernel: Kernel) -> None:
    """One specialisation of the entry, found in the folder; a change of type would compile anew."""
    code = (
        "from schedgap.solvers.search import compiled; from strategies import toy_kernel as toy; "
        f"compiled.user_cache_dir = lambda name: {str(kernel.folder.parent)!r}; "  # type: ignore[union-attr]
        "from schedgap.solvers.search.annealing import insert_all; "
        "run = toy.KERNEL.fast; problem, state, *_ = toy.sample(); "
        "insert_all(run, problem, state, [], [0.0]); "
        "print(sum(run.stats.cache_hits.values()), sum(run.stats.cache_misses.values()))"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert out.stdout.split() == ["1", "0"], out.stderr


def test_only_large_instances_run_compiled_code(kernel: Kernel) -> None:
    made, lost = (replace(kernel, large=lambda jobs: jobs > 10) for _ in range(2))
    assert made.entry(10) is made.plain and made.compiled(10) is None
    assert made.entry(11) is made.compiled(11) is made.fast is not made.plain
    lost.give_up()
    assert lost.entry(11) is lost.plain and lost.compiled(11) is None


def test_an_empty_folder_is_compiled_into_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = list[Path]()

    def compiled_code(self: Kernel) -> Callable[..., Any]:
        def entry(*arguments: Any) -> None:
            assert self.folder is not None
            assert len(arguments) == KERNEL.plain.__code__.co_argcount  # type: ignore[attr-defined]
            written.append(self.folder / "toy" / f"{len(written)}.nbi")
            written[-1].parent.mkdir()
            written[-1].write_bytes(b"code")

        return entry

    monkeypatch.setattr(compiled, "user_cache_dir", lambda name: str(tmp_path))
    monkeypatch.setattr(Kernel, "_compiled", compiled_code)
    made = replace(KERNEL)
    assert made.waits and not made.is_ready and made.fast is made.plain
    for _ in range(2):
        made.compile()
        assert made.is_ready and not made.waits
    assert made._files() == written and len(written) == 1
    assert made.fast is not made.plain


def test_files_that_are_cut_off_are_compiled_again(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba fails on them."""
    monkeypatch.setattr(Kernel, "_compiled", lambda self: lambda *arguments: 0)
    for file in kernel._files():
        whole = file.read_bytes()
        for damaged in (whole[:40], None):
            file.unlink() if damaged is None else file.write_bytes(damaged)
            assert not kernel.is_ready and replace(kernel).fast.__name__ == "run"
            file.write_bytes(whole)
    assert kernel.is_ready and len(kernel._files()) == 2
    ready = kernel.folder / "ready"  # type: ignore[operator]
    kept = {file: file.read_bytes() for file in (*kernel._files(), ready)}
    kernel._files()[0].write_bytes(b"x")
    kernel.compile()
    assert kernel.is_ready and not kernel._files()  # it compiled nothing, in an empty folder
    for file, content in kept.items():
        file.write_bytes(content)


def test_a_change_of_source_constants_or_switches_gives_another_folder(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = replace(kernel).folder
    assert first == kernel.folder
    monkeypatch.setattr(moves, "BLUR", 0.1)
    second = replace(kernel).folder
    monkeypatch.setenv("NUMBA_LOOP_VECTORIZE", "0")
    third = replace(kernel).folder
    assert len({first, second, third}) == 3
    assert not replace(kernel).is_ready and replace(kernel).fast.__name__ == "run"


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_folder_into_which_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba unpickles what it finds there."""
    monkeypatch.setattr(compiled, "user_cache_dir", lambda name: str(tmp_path))
    folder = replace(KERNEL).folder
    assert folder is not None and folder.stat().st_mode & 0o777 == 0o700
    (folder / "ready").write_text(KERNEL._hash())
    assert replace(KERNEL).is_ready
    folder.chmod(0o777)
    made = replace(KERNEL)
    assert made.folder is None and not made.is_ready
    made.compile()
    assert made.fast is made.plain


def test_without_files_of_the_source_it_runs_as_python() -> None:
    """As in an archive of modules."""
    scope: dict[str, Any] = {}
    exec(compile("def copy(source, target, j): pass", "archive.zip/toy.py", "exec"), scope)
    made = replace(KERNEL, functions=(scope["copy"], *KERNEL.functions))
    assert made.folder is None and made.fast is made.plain
