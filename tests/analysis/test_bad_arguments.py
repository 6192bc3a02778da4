"""Every argument of every public function that cannot be meant is one line, and no traceback."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedgap as sg
from schedgap.errors import InputError, SchedgapError, UsageError
from schedgap.instances.arguments import an_integer, checked, positive

LOOP: list[Any] = []
LOOP.append(LOOP)
VALUES: dict[str, Any] = {
    "object": object(), "loop": LOOP, "nan": float("nan"), "huge": 10**400, "null": "a\0b",
    "none in a list": [None], "array": np.array([1, 2]), "key": {3: 1}, "long": "x" * 5000,
}  # fmt: skip
ANYTHING = {("Solution.bind", "progress"), ("Solution.bind", "partial")}


@cache
def toy() -> Any:
    """Return an instance that every method solves at once."""
    return sg.generate("ring", preset="toy-pcmax")


@cache
def solved() -> Any:
    return sg.solve(toy(), "list-scheduling")


def rule(instance: Any) -> Any:
    return solved().schedule


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return functions and arguments with which they can be called."""
    place = tmp_path_factory.mktemp("arguments")
    limits = {"time_limit": 5.0, "memory_limit": 500.0}
    run = sg.compare([toy()], run=place / "run", methods=["lpt-pack"], workers=1, **limits)
    solved().save(place / "solution.json")
    judged = sg.judge(toy(), solved().schedule, solved())
    common = {"jobs": 2, "time_limit": 5.0, "seed": 0, "workers": 1, "out": place / "find"}
    quiet = {"on_message": lambda message: None}
    return {
        "solve": (sg.solve, {"instance": toy(), "method": "lpt-pack", "engine": None, "seed": None,
                             "proof": "off", **limits, **quiet}),
        "judge": (sg.judge, {"instance": toy(), "schedule": solved().schedule, "name": "x"}),
        "verify": (sg.verify, {"instance": toy(), "solution": solved()}),
        "ratio": (sg.ratio, {"solution": solved()}),
        "offered_load": (sg.offered_load, {"instance": toy()}),
        "grid": (sg.grid, {"family": "ring", "preset": "small", "seed": [1], "jobs": [2]}),
        "generate": (sg.generate, {"family": "ring", "preset": "small", "seed": 1,
                                   "settings": {"jobs": 2}, "jobs_from": None}),
        "library": (sg.library, {"family": "ring"}),
        "records": (sg.records, {"name": "ring", "book": None}),
        "load": (sg.load, {"file": place / "instance.json"}),
        "load_solution": (sg.load_solution, {"file": place / "solution.json", "instance": toy()}),
        "methods": (sg.methods, {"name": "ring"}),
        "presets": (sg.presets, {"name": "ring"}),
        "models": (sg.models, {"of": "ring"}),
        "model": (sg.model, {"instance": toy(), "name": "paper", "relax": False}),
        "online": (sg.online, {"function": rule}),
        "own": (sg.own, {"code": rule, "name": "x"}),
        "report": (sg.report, {"runs": place / "run", "out": place / "r.html", "older": False}),
        "trace_instances": (sg.trace_instances, {"folder": place, "families": ["ring"],
                            "loads": [1.0], "jobs": 2, "seeds": [0], "on_note": print}),
        "explore": (sg.explore, {"name": "ring", "preset": "toy-pcmax", "method": "lpt-pack",
                                 "against": "lpt-pack", "seed": 1, "time_limit": 5.0}),
        "formulations": (sg.formulations, {"instance": toy(), "best": 6.0, "time_limit": 5.0,
                                           "relaxations": False}),
        "compare": (sg.compare, {"targets": [toy()], "run": place / "run", "methods": ["lpt-pack"],
                    "workers": 1, "seed": None, "retry": False, "cluster": None, **limits}),
        "bench": (sg.bench, {"targets": [toy()], "preset": None, "seeds": None, "settings": None,
                  "models": "paper", "engines": ["highs"], "engine_options": None, "threads": 1,
                  "permutations": 1, "engine_seeds": 0, "narrow": True, "confirm": False,
                  "reference": "none", "workers": 1, "retry": False, "run": place / "engines",
                  **limits}),
        "worst_case": (sg.worst_case, {"family": "ring", "method": "lpt-pack", "against": "fifo",
                       "guarantee": "theorem_5", "preset": "small", "settings": {}, "fixed": [],
                       "evaluations": 1, "enough": 2.0, "shrink": False, **common}),
        "worst_grid": (sg.worst_grid, {"family": "ring", "methods": ["lpt-pack"],
                                       "evaluations": 1, **common}),
        "Run.gaps": (run.gaps, {"seconds": [1.0], "by_preset": True, "methods": ["lpt-pack"]}),
        "Run.plot": (run.plot, {"x": "jobs", "y": "ratio", "color": "method", "methods": None}),
        "Run.times": (run.times, {"shift": 1.0, "methods": ["lpt-pack"]}),
        "Run.profile": (run.profile, {"by": "objective"}),
        "Run.virtual_best": (run.virtual_best, {"by": "objective"}),
        "Run.instance": (run.instance, {"sha256": toy().sha256}),
        "Run.report": (run.report, {"file": place / "report.html"}),
        "Solution.bind": (sg.Solution.bind, {"instance": toy(), "data": solved().to_data(),
                                             "progress": (), "partial": None}),
        "Solution.gantt": (solved().gantt, {"compare_with": solved()}),
        "Solution.save": (solved().save, {"file": place / "s.json"}),
        "JudgedSchedule.gantt": (judged.gantt, {"compare_with": judged}),
        "JudgedSchedule.store": (judged.store, {"run": place / "run"}),
        "Instance.save": (toy().save, {"file": place / "i.json"}),
        "Instance.replace": (toy().replace, {"horizon": 30, "name": "n", "jobs": toy().jobs}),
    }  # fmt: skip


NAMES = (
    "solve judge verify ratio offered_load grid generate library records load load_solution "
    "methods presets models model online own report trace_instances explore formulations compare "
    "bench worst_case worst_grid Run.gaps Run.plot Run.times Run.profile Run.virtual_best "
    "Run.instance Run.report Solution.bind Solution.gantt Solution.save JudgedSchedule.gantt "
    "JudgedSchedule.store Instance.save Instance.replace"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_no_argument_gives_a_traceback(
    calls: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, given = calls[name]
    for parameter in given:
        for label, value in VALUES.items():
            arguments = {**given, parameter: value}
            try:
                found = function(**arguments)
            except SchedgapError as error:  # anything else fails
                text = str(error)
                assert text and "\n" not in text, (parameter, label)
            else:
                refused = label != "object" or (name, parameter) in ANYTHING
                assert refused, f"{name}({parameter}=object()) gave {found!r}"


def test_the_sweep_covers_all_functions(calls: Any) -> None:
    functions = {name for name in sg.__all__ if name[0].islower()}
    apart = {
        "families",
        "engines",
        "register",
        "instance",
    }  # nothing to give; a contract; the next test
    assert functions - apart == set(calls) & functions
    assert list(calls) == sorted(calls, key=NAMES.split().index)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sg.solve(3, "exact"), "instance 3: need an instance, as load"),
        (lambda: sg.solve(toy(), time_limit="x"), "time limit 'x': need a number > 0"),
        (lambda: sg.solve(toy(), memory_limit=1e300), "memory limit 1e+300: need a number > 0"),
        (lambda: sg.solve(toy(), memory_limit=1e12), "memory limit 1000000000000.0: need at most"),
        (lambda: sg.solve(toy(), proof="all"), "proof 'all': need 'auto', 'off' or a number"),
        (lambda: sg.judge(toy().to_data(), {}), "instance of type dict: need an instance"),
        (lambda: sg.judge(toy(), toy()), "schedule: need a schedule, not an instance"),
        (lambda: sg.offered_load("ring"), "instance 'ring': need an instance"),
        (lambda: sg.grid("ring", preset=3), "preset 3: need a text"),
        (lambda: sg.grid(3), "family 3: need a text"),
        (lambda: sg.instance("ring", jobs=LOOP), "nested too deeply"),
        (lambda: sg.instance("ring", meta={"a": LOOP}), "nested too deeply"),
        (lambda: sg.instance(3), "no family '3'"),
        (lambda: sg.worst_case("ring", "fifo", settings=3), "settings 3: need a mapping"),
        (lambda: sg.worst_case("ring", "fifo", on_progress=3), "on progress 3: need a function"),
        (lambda: sg.worst_grid("ring", []), "methods: need at least one"),
        (lambda: sg.compare([toy()], methods=[]), "methods: need at least one"),
        (lambda: sg.compare(3), "targets 3: need a list"),
        (lambda: sg.compare([3]), "target 3: need an instance, a figure, or a file or folder"),
        (lambda: sg.compare([toy()], workers=1.5), "workers 1.5: need an integer >= 1"),
        (lambda: sg.report([]), "runs of type list: need at least one run folder"),
        (lambda: sg.Run(""), "run folder '': need a path"),
        (lambda: sg.online(3), "function 3: need a function"),
        (lambda: solved().gantt(toy()), "no chart: need a solution to compare with, not RingIns"),
    ],
)
def test_the_line_says_what_is_needed(call: Callable[[], object], message: str) -> None:
    with pytest.raises((UsageError, InputError)) as caught:
        call()
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_wrong_measure_is_not_another_one(calls: Any) -> None:
    profile = calls["Run.profile"][0]
    with pytest.raises(UsageError, match="by 'time': need one of objective, seconds"):
        profile(by="time")


def test_checked_keeps_a_function_as_it_is() -> None:
    @checked(count=an_integer(1, 3), share=positive())
    def function(count: int, share: float = -1.0) -> tuple[int, float]:
        """Return both."""
        return count, share

    assert function(2) == (2, -1.0)  # a default is what the function says
    assert function(np.int64(3), share=0.5) == (3, 0.5)
    assert function.__doc__ == "Return both."
    with pytest.raises(UsageError, match="count 4: need an integer from 1 to 3"):
        function(4)
    with pytest.raises(UsageError, match="share True: need a number > 0"):
        function(1, True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'shares'"):
        function(1, shares=2)
