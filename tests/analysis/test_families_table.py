"""The short table of several families: their papers' algorithms between the heuristics."""

from pathlib import Path

import pandas as pd
import pytest
from reports import store
from toy_family import toy

from schedgap import show
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.statistics.readable import by_family


def test_a_family_is_its_algorithm_between_the_best_and_the_worst_heuristic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = toy(30, 20, 15, 10)
    results = [("scan", 10, "exact"), ("first", 20, "algorithm"), ("weak", 15, "baseline"),
               ("luck", 30, "baseline")]  # fmt: skip
    for method, value, kind in results:
        bound = {"bound": 10.0, "status": "optimal"} if kind == "exact" else {}
        store(tmp_path, instance, method, kind=kind, objective=float(value), **bound)
    (row,) = by_family(Run(tmp_path).summary(by_preset=False)).to_dict("records")
    assert (row["family"], row["algorithm"], row["n"]) == ("toy", "first", "1")
    assert row["mean ratio"] == row["worst ratio"] == "2.0000"
    assert row["best heuristic"] == "weak 1.5000" and row["worst heuristic"] == "luck 3.0000"
    own = Run(tmp_path).summary(by_preset=False).assign(n=7, mean_low=2.5, mean_high=2.5)
    (row,) = by_family(Run(tmp_path).summary(by_preset=False), own).to_dict("records")
    assert (row["n"], row["mean ratio"], row["best heuristic"]) == ("7", "2.5000", "weak 1.5000")
    frame = Run(tmp_path).summary(by_preset=False)
    first = frame[frame["method"] == "first"]
    names = ("a-online", "a-online-printed", "a-maxsche")
    same = pd.concat([first.assign(family="edge", method=name) for name in names])
    equal, unlike = by_family(same.assign(worst_high=[2.0, 2.0, 3.0]))["algorithm"]
    assert (equal, unlike) == ("a-online (+ 1 equal)", "a-maxsche")
    assert len(by_family(same.assign(n=0))) == 3  # without a ratio, nothing is equal
    hidden = show.table(["a", "b"], [["x" * 100, "y" * 100]], spare=("b",))
    assert hidden == ["b"] and "y" not in capsys.readouterr().out
