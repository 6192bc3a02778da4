"""Online algorithms of the user's own see no later job, and cannot change the past."""

from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.own.arrivals import arrivals, view
from schedgap.errors import InvalidScheduleError, OwnMethodError, UsageError


@sg.online
def replans(view: Any, now: float, plan: Any, *, which: str = "", seed: int) -> Any:
    """Run a method of the package on the jobs that have arrived."""
    from schedgap.models.family import family
    from schedgap.models.method import Budget, NullProgress, RunContext

    owner = family(view.family)
    method = owner.method(which)
    call = RunContext(method.parse({}), None, Budget(seed=seed), NullProgress())
    return owner.run(method, view, call).schedule


@pytest.mark.parametrize(
    ("family", "methods"),
    [
        ("hare", ["gavel-fifo", "srtf", "sched-homo", "sched-allox"]),
        ("elastic", ["a-online-compact", "fifo", "tiresias"]),
        ("edge", ["a-online", "a-online-any", "drf", "batch-sche", "preemptive-overhead"]),
        ("dmlrs", ["fifo", "drf", "oasis"]),
    ],
)
def test_an_online_method_called_at_each_arrival_returns_its_own_schedule(
    family: str, methods: list[str]
) -> None:
    instance = sg.generate(family, preset="small", seed=1)
    assert len(arrivals(instance)) > 1
    for method in methods:
        assert sg.solve(instance, replans, which=method).objective == (
            sg.solve(instance, method).objective
        )


@pytest.mark.parametrize(
    ("family", "seed", "method"),
    [
        ("hare", 2, "local-search"),
        ("elastic", 2, "wspt-list"),
        ("edge", 4, "list"),
        ("dmlrs", 3, "density"),
    ],
)
def test_a_method_that_knows_all_jobs_changes_its_past(family: str, seed: int, method: str) -> None:
    instance = sg.generate(family, preset="small", seed=seed)
    with pytest.raises(InvalidScheduleError, match=r"changed its past at time \d+: job \w+, "):
        sg.solve(instance, replans, which=method)


HARE = sg.generate("hare", preset="small", seed=1)


def test_nothing_tells_of_later_jobs() -> None:
    seen = view(HARE, arrivals(HARE)[0])
    assert [job.id for job in seen.jobs] == ["J1", "J2"]
    assert seen.name == "view" and dict(seen.meta) == {"time_unit": "slot"}

    def peeks(view: Any, now: float, plan: Any) -> Any:
        import gc
        import os

        from schedgap.instances.instance import Instance

        known = [each for each in gc.get_objects() if isinstance(each, Instance)]
        assert max(len(each.jobs) for each in known) == len(view.jobs), "peeked"
        assert all(job.arrival <= now for each in known for job in each.jobs), "peeked"
        raise ValueError(f"saw {len(view.jobs)} jobs at {now} in {os.getpid()}")

    with pytest.raises(OwnMethodError, match=r"ValueError: saw 2 jobs at 1 in \d+"):
        sg.solve(HARE, sg.online(peeks))


def test_state_is_kept_from_call_to_call() -> None:
    inner = replans

    def counts(view: Any, now: float, plan: Any, *, state: dict[str, Any]) -> Any:
        assert (plan is None) == (not state)
        state.setdefault("times", []).append(now)
        if len(view.jobs) == 6:
            raise ValueError(f"{state['times']}")
        return inner(view, now, plan, which="srtf", seed=0)

    with pytest.raises(OwnMethodError, match=r"ValueError: \[1, 4, 10\]"):
        sg.solve(HARE, sg.online(counts))


def test_failures_are_outcomes() -> None:
    inner = replans

    def late(view: Any, now: float, plan: Any) -> Any:
        found = inner(view, now, plan, which="srtf", seed=0).to_data(view)
        if now > 1:
            found["assignments"].append({**found["assignments"][0], "start": 0.25})
        return found

    with pytest.raises(InvalidScheduleError, match="decided in the past at time 4: job J1"):
        sg.solve(HARE, sg.online(late))

    def partial(view: Any, now: float, plan: Any) -> Any:
        return {"assignments": []}

    def shapeless(view: Any, now: float, plan: Any) -> Any:
        return {"assignments": [1]}

    def stops(view: Any, now: float, plan: Any) -> Any:
        import time

        time.sleep(20 if now > 1 else 0)
        return {"assignments": []}

    methods = [sg.online(each) for each in (partial, shapeless, stops)]
    run = sg.compare([HARE], methods=methods, time_limit=1)
    found = {each.method: (each.outcome, each.message) for each in run.records}
    assert found["partial"][0] == "invalid" and "breaks V2" in found["partial"][1]
    assert found["shapeless"][0] == "invalid" and "no schedule of family" in found["shapeless"][1]
    assert found["stops"][0] == "timeout" and run.contradictions == []


def test_ring_has_no_arrivals_and_files_may_be_online(tmp_path: Path) -> None:
    ring = sg.generate("ring", preset="small")
    with pytest.raises(UsageError, match="in family ring, all jobs are there from the start"):
        sg.solve(ring, replans)
    file = tmp_path / "mine.py"
    file.write_text(
        "import schedgap as sg\n"
        "@sg.online\n"
        "def rule(view, now, plan):\n"
        "    raise ValueError(f'at {now}')\n"
        "def wrong(view): pass\n"
        "few = sg.online(wrong)\n"
    )
    with pytest.raises(OwnMethodError, match="ValueError: at 1"):
        sg.solve(HARE, f"{file}:rule")
    with pytest.raises(UsageError, match="its first parameters must be: instance, time and last"):
        sg.solve(HARE, f"{file}:few")
