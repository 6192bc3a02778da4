"""Programs as Pyomo models in the user's hand: indices, relaxations, duals."""

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import schedgap as sg
from schedgap.analysis.programs.models import build, program_name
from schedgap.analysis.studies.formulations import measure_relaxation
from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES as ALL
from schedgap.models.family import family
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.indices import Indices, as_model, rename_indices
from schedgap.solvers.programs.pyomo import compile_model

FAMILIES = tuple(ALL)
TOYS = {name: sg.generate(name, preset="toy") for name in FAMILIES}
EVERY = [(name, program) for name in FAMILIES for program in family(name).programs]
# kinds that are numbers and say so
NUMBERS = {"slot", "step", "row", "row#", "run", "mode", "number", "level", "schedule", "cell"}
NUMBERS |= {"block", "block#"}


def test_indices_are_those_of_the_instance() -> None:
    program = sg.model(TOYS["hare"], "paper")
    row = program.eq_7_start["J3", 2, 1]
    assert str(row.body) == "barrier[J3,1] - x[J3,2,1]"
    assert list(program.JOB) == ["J1", "J2", "J3"] and ("J3", 2, 2) in program.TASK
    assert program.y["J1", 1, 2, "GPU3"].name == "y[J1,1,2,GPU3]"
    assert program.y.index_set().dimen == 4 and str(program.y.index_set()) == "task * gpu"
    with pytest.raises(KeyError, match="J9"):
        program.x["J9", 1, 1]


def test_ids_with_commas_and_brackets_are_indices() -> None:
    toy: Any = TOYS["dmlrs"]
    job = toy.jobs[0]
    twins = toy.replace(jobs=[job, job.replace(id="a,b[1]")])
    program = sg.model(twins, "milp-machine")
    slots = [[slot for own, slot in program.y if own == name] for name in (job.id, "a,b[1]")]
    assert slots[0] == slots[1] != []


@pytest.mark.parametrize(("name", "program"), EVERY)
def test_every_index_is_named_and_no_number_changes(name: str, program: str) -> None:
    instance, owner = TOYS[name], family(name)
    entry = owner.programs[program]
    named, plain = sg.model(instance, program), build(instance, program)
    for symmetric in entry.symmetry:
        if plain.component(symmetric) is not None:
            plain.component(symmetric).deactivate()
    mine, theirs = (compile_model(each, quadratic=True) for each in (named, plain))
    assert (mine.program.matrix != theirs.program.matrix).nnz == 0
    for part in ("cost", "lower", "upper", "row_lower", "row_upper"):
        assert np.array_equal(getattr(mine.program, part), getattr(theirs.program, part))
    known = owner.index_names(instance)
    for component in named.component_objects([pyo.Var, pyo.Constraint]):
        if not component.is_indexed():
            continue
        kinds = entry.indices.get(component.local_name, "row").split()
        assert {kind.removesuffix("#") for kind in kinds} <= NUMBERS | set(known)
        parts = [
            list(known[kind.removesuffix("#")]) for kind in kinds if kind.removesuffix("#") in known
        ]
        for key in component:
            key = key if isinstance(key, tuple) else (key,)
            for members in parts:
                assert any(key[at : at + len(m)] == m for m in members for at in range(len(key)))


def test_every_variant_of_a_printed_program_has_named_indices() -> None:
    exact_ratio = sg.generate("dmlrs", preset="small", seed=2, settings={"jobs": 2})
    for instance in (
        sg.generate("elastic", preset="toy-batch"),
        sg.generate("elastic", preset="toy-ring"),
        sg.generate("edge", preset="toy-batch"),
        exact_ratio.replace(ps_rule="exact"),
    ):
        owner = family(instance.family)
        for name, program in owner.programs.items():
            if program.kind != "exact" or isinstance(program(instance), LinearProgram):
                continue
            built = sg.model(instance, name)
            for component in built.component_objects([pyo.Var, pyo.Constraint]):
                assert not component.is_indexed() or component.local_name in program.indices


def test_a_continuous_model_can_be_relaxed_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    relaxed = sg.model(TOYS["hare"], "fluid-lp", relax=True)
    assert all(each.is_continuous() for each in relaxed.component_data_objects(pyo.Var))
    assert not caplog.records


def test_other_names_of_the_programs() -> None:
    names = {name: program_name(family(name), "paper") for name in FAMILIES}
    assert names == {
        "hare": "big-m",
        "elastic": "paper-milp",
        "edge": "milp-literal",
        "ring": "rar-ddls",
        "dmlrs": "milp-machine",
    }
    assert program_name(family("hare"), "rounded") == "relaxed-prefix"
    assert program_name(family("dmlrs"), "rounded") == "sub-23-relaxed"
    with pytest.raises(UsageError, match=r"family ring has no program 'dual'.*rar-ddls"):
        sg.model(TOYS["ring"], "dual")


def test_rows_that_remove_symmetric_solutions_are_there_but_not_active() -> None:
    program = sg.model(TOYS["hare"])
    assert len(program.cut_alike) and not program.cut_alike.active
    assert all(not row.active for row in program.cut_alike.values())


def test_copies_and_values() -> None:
    program = sg.model(TOYS["ring"])
    program.y["a", "s1"].fix(1)
    for other in (program.clone(), copy.deepcopy(program)):
        assert other.y["a", "s1"].value == 1 and other.y["a", "s1"].name == "y[a,s1]"
        assert other.name == program.name == "rar-ddls of ring-toy"


def test_linear_relaxation() -> None:
    program = sg.model(TOYS["edge"], relax=True)
    assert all(variable.is_continuous() for variable in program.component_data_objects(pyo.Var))
    assert program.run["j1", 1].bounds == (0, 1)
    assert not compile_model(program).program.is_mixed
    assert compile_model(sg.model(TOYS["edge"])).program.is_mixed


def test_arrays_as_a_model() -> None:
    program = LinearProgram(
        cost=[-3, 0, 1],
        lower=[0, 0, -np.inf],
        upper=[1, np.inf, 4],
        matrix=[[1, 1, 0], [0, 1, 1], [0, 0, 2]],
        row_lower=[1, -np.inf, -1],
        row_upper=[1, 5, 3],
        integer=np.array([True, False, False]),
        offset=2.0,
        column_names=["u[0,1]", "u[1,0]", "C[0]"],
        row_names=["eq_5[1]", "eq_8[0][1]", "eq_8[0][2]"],
    )
    model = as_model(program, "p", sense="max", unit=0.5)
    assert model.u[0, 1].is_binary() and model.u[1, 0].bounds == (0, None)
    back = compile_model(model)
    assert back.sense == "max"
    assert back.program.cost.tolist() == [-1.5, 0, 0.5] and back.program.offset == 1.0
    assert (back.program.matrix != program.matrix).nnz == 0
    assert back.program.row_lower.tolist() == program.row_lower.tolist()
    assert back.named().row_names == ["eq_5[1]", "eq_8[0,1]", "eq_8[0,2]"]
    rename_indices(
        model,
        Indices({"u": ["job", "gpu"], "eq_5": ["job#"]}, {"job": [("a", 1), ("b", 2)]}),
    )
    assert [v.name for v in model.u.values()] == ["u[a,1,1]", "u[b,2,0]"]
    assert [row.name for row in model.eq_5.values()] == ["eq_5[a,1]"]
    assert list(model.JOB) == [("a", 1), ("b", 2)]


def solved(program: Any) -> float:
    """Return the optimum of a program by Pyomo's own interface to HiGHS."""
    result = pyo.SolverFactory("appsi_highs").solve(program)
    assert result.solver.termination_condition == "optimal"
    return float(pyo.value(next(program.component_data_objects(pyo.Objective, active=True))))


@pytest.mark.parametrize("seed", range(6))
def test_strong_duality(seed: int) -> None:
    """The dual and the linear relaxation of the primal have the same optimum."""
    elastic = sg.generate(
        "elastic",
        preset="small",
        seed=seed,
        settings={"jobs": 2, "architecture": ["parameter_server", "ring_allreduce"][seed % 2]},
    )
    dmlrs = sg.generate("dmlrs", preset="small", seed=seed, settings={"jobs": 3})
    for instance in (elastic, dmlrs):
        primal = solved(sg.model(instance, "primal", relax=True))
        dual = solved(sg.model(instance, "dual"))
        assert primal == pytest.approx(dual, rel=1e-7) and abs(primal) > 0.1


def test_weak_duality_of_the_printed_program() -> None:
    """A dual bounds the optimum of the instance from the other side."""
    for name in ("elastic", "dmlrs"):
        best = sg.solve(TOYS[name], "exact", time_limit=30)
        bound = solved(sg.model(TOYS[name], "dual"))
        assert (bound - best.objective) * (1 if best.sense == "max" else -1) >= -1e-6


def test_the_rounded_program_is_the_one_that_the_algorithm_solves() -> None:
    """(23) of the model and the arrays of Algorithm 4 have the same numbers."""
    from schedgap.models.dmlrs.programs import across_machines
    from schedgap.models.dmlrs.programs.subproblems import last_to_arrive
    from schedgap.solvers.programs.arrays import LinearProgram as Arrays

    toy = TOYS["dmlrs"]
    subproblem = last_to_arrive(toy)
    prices = subproblem.cluster.price[subproblem.job.arrival - 1 :]
    slot = subproblem.slot(subproblem.job.arrival + int(prices.sum(axis=(1, 2)).argmin()))
    workers = subproblem.share(1)
    bundles = slot.job.bundles
    ps = int(bundles.ps[list(bundles.workers).index(workers)])
    solver: Arrays = across_machines.build(
        slot, np.arange(len(slot.free)), workers=workers, ps=ps, names=True
    )
    mine = compile_model(sg.model(toy, "rounded"))
    assert (mine.program.matrix != solver.matrix).nnz == 0
    assert np.array_equal(mine.program.row_upper, solver.row_upper)
    assert np.array_equal(mine.program.cost, solver.cost) and not mine.program.is_mixed
    names = [name.split("[")[0] for name in solver.row_names or ()]
    assert [name.split("[")[0] for name in mine.named().row_names or ()] == names


def test_only_a_model_for_the_caller_loads_all_of_pyomo(tmp_path: Path) -> None:
    """The plugins of `pyomo.environ` take longer to import than a toy takes to solve."""
    file = tmp_path / "toy.lp"
    code = (
        "import sys, schedgap as sg\n"
        "from schedgap.analysis.programs.models import build, program_name\n"
        "from schedgap.models.family import family\n"
        "from schedgap.solvers.programs.pyomo import compile_model\n"
        "toy = sg.generate('dmlrs', preset='toy')\n"
        "compile_model(build(toy, program_name(family('dmlrs'), 'paper')))\n"
        "assert 'pyomo.core' in sys.modules and 'pyomo.environ' not in sys.modules\n"
        f"sg.model(toy).write({str(file)!r})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "\ns.t.\n" in file.read_text()


def test_tables_read_well() -> None:
    rows = sg.models("elastic")
    assert [row["model"] for row in rows] == list(family("elastic").programs)
    dual = next(row for row in rows if row["model"] == "dual-lp")
    assert dual["also"] == ["dual"] and dual["kind"] == "dual" and dual["equations"] == "(9), (18)"
    assert {row["family"] for row in sg.models()} >= set(FAMILIES)
    options = sg.methods("hare").frame().set_index("method")["options"]
    assert options["hare"].startswith("gpu_rule = ") and " | " in options["hare"]
    assert not set("{}[]") & set("".join(options))
    for table in (sg.families(), sg.presets("ring"), sg.methods("edge"), rows):
        page = table._repr_html_()
        assert page.startswith("<table") and "..." not in page and "None" not in page
        assert "{" not in page and table[0]["family"] in repr(table)
    assert "paper-half" in repr(sg.presets("dmlrs"))


def test_sizes_of_an_instance() -> None:
    rows = {row["model"]: row for row in sg.models(TOYS["dmlrs"])}
    paper = compile_model(sg.model(TOYS["dmlrs"])).program
    assert rows["milp-machine"]["rows"] == len(paper.row_lower)
    assert rows["milp-machine"]["columns"] == rows["milp-machine"]["integers"] == len(paper.cost)
    assert rows["dual-10"]["integers"] == 0 and rows["dual-10"]["note"] == ""
    long = {row["model"]: row for row in sg.models(sg.generate("ring", preset="small"))}
    assert long["complete-pool"]["rows"] is None and "200000" in long["complete-pool"]["note"]


def test_formulations() -> None:
    toy = TOYS["dmlrs"]
    best = 16.0  # value of some schedule, not the best one
    table = sg.formulations(toy, best=best, time_limit=30).set_index("model")
    assert list(table.index) == [
        name for name, each in family("dmlrs").programs.items() if each.kind != "subproblem"
    ]
    assert table.loc["milp-machine", "lp_bound"] == pytest.approx(
        solved(sg.model(toy, relax=True)), rel=1e-6
    )
    assert (table["lp_bound"] >= 20 - 1e-6).all()
    assert table["root_gap"].to_numpy() == pytest.approx(abs(table["lp_bound"] - best) / best)
    assert (table["seconds"] > 0).all()
    assert table.loc["dual-10", "lp_bound"] == pytest.approx(table.loc["primal-8", "lp_bound"])
    exact = sg.formulations(TOYS["hare"], best=8.0, time_limit=30, relaxations=False)
    assert list(exact["kind"]) == ["exact", "exact"]
    assert exact["root_gap"][1] < exact["root_gap"][0]  # time indices are tighter than big-M
    with pytest.raises(UsageError, match="time limit 0"):
        sg.formulations(toy, time_limit=0)


def test_the_relaxation_of_a_program_is_not_the_program() -> None:
    big = measured("hare", "big-m")
    assert big["integers"] > 0 and big["note"] == ""
    assert big["lp_bound"] == pytest.approx(solved(sg.model(TOYS["hare"], relax=True)))
    assert big["lp_bound"] < 7.5  # the optimum is 8
    stopped = measured("hare", "big-m", limit=0.0)
    assert stopped["lp_bound"] is None and stopped["note"] and stopped["rows"] == big["rows"]
    quadratic = measured("hare", "relaxed-miqcp")
    assert (quadratic["note"], quadratic["lp_bound"]) == ("quadratic", None)


def measured(name: str, program: str, limit: float = 30.0) -> dict[str, Any]:
    """Return what a child process would measure."""
    place = ALL[name].models
    return measure_relaxation(lambda message: None, place, TOYS[name], program, limit)


def test_a_program_that_takes_too_long_is_a_row() -> None:
    small = sg.generate("hare", preset="small", seed=1)
    table = sg.formulations(small, best=1.0, time_limit=0.01, relaxations=False)
    assert table["lp_bound"].isna().all() and (table["note"] != "").all()


def test_models_is_a_package_and_a_function() -> None:
    import schedgap.models

    assert sg.models is schedgap.models and sg.models.family is family
    assert sg.models("ring")[0]["model"] == "rar-ddls"
    with pytest.raises(UsageError, match="no family 'rign'"):
        sg.models("rign")
