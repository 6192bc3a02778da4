"""Programs that their user has changed: solved in a child, read back, verified, never a bound."""

from typing import Any

import pyomo.environ as pyo
import pytest

import schedgap as sg
from schedgap.analysis.programs.solve_model import _compiled, _same
from schedgap.errors import InputError, Interrupted, UsageError
from schedgap.solvers.children.processes import run_child
from strategies.engines import needs

NAMES = ("hare", "elastic", "edge", "ring", "dmlrs")
TOYS: dict[str, Any] = {name: sg.generate(name, preset="toy") for name in NAMES}
TINY = {
    name: toy.replace(jobs=toy.jobs[: 2 if name in ("elastic", "dmlrs", "hare") else 1])
    for name, toy in TOYS.items()
}
# rows without which several jobs use the same machine at once, or end before their work is done
CAPACITY = {
    "hare": ("eq_8_first", "eq_8_second"),
    "elastic": ("eq_2h",),
    "edge": ("eq_2e",),
    "ring": ("eq_9", "cut_length", "cut_last"),
    "dmlrs": ("eq_5",),
}


@pytest.mark.parametrize("name", NAMES)
def test_an_unchanged_program_has_the_optimum_of_the_instance(name: str) -> None:
    instance = TINY[name].replace(jobs=TINY[name].jobs[:1]) if name == "hare" else TINY[name]
    best = sg.solve(instance, "exact", time_limit=30)
    mine = sg.solve(instance, sg.model(instance, "paper", symmetry=True))
    assert mine.status == best.status == "optimal" and mine.kind == "exact"
    assert mine.objective == mine.bound == pytest.approx(best.objective)
    assert mine.program["objective"] == pytest.approx(best.objective)
    assert not mine.program["changed"] and mine.proof is not None and mine.proof.kind == "engine"
    assert sg.verify(instance, mine) and sg.ratio(mine, best).low == 1.0


def test_ctrl_c_leaves_the_schedule_of_the_last_incumbent(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any, **terms: Any) -> None:
        run_child(*arguments, **terms)
        raise KeyboardInterrupt

    monkeypatch.setattr("schedgap.analysis.programs.solve_model.run_child", interrupted)
    instance = TINY["ring"]
    with pytest.raises(Interrupted) as caught:
        sg.solve(instance, sg.model(instance, "paper"))
    found = caught.value.solution
    assert (found.status, found.bound) == ("feasible", None)
    assert sg.verify(instance, found).objective == found.objective
    with pytest.raises(KeyboardInterrupt):  # without a schedule
        sg.solve(instance, sg.model(instance, "paper", relax=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_program_without_a_rule_gives_no_schedule(name: str) -> None:
    instance = TINY[name]
    if name in ("elastic", "dmlrs"):  # so that the jobs cannot run side by side
        instance = crowded(instance)
    program = sg.model(instance)
    for row in CAPACITY[name]:
        program.component(row).deactivate()
    if name == "ring":
        program.mk.setlb(0)
    mine = sg.solve(instance, program, time_limit=60)
    assert mine.program["changed"] and mine.program["status"] == "optimal"
    assert mine.status == "unknown" and mine.schedule is None and mine.bound is None
    assert mine.broken and "no schedule of the instance" in repr(mine)
    drawn = mine.gantt()
    assert f"breaks {mine.broken[0].split(':')[0]}" in drawn.layout.annotations[0].text
    marked = any(trace.name.startswith("breaks V") for trace in drawn.data)
    assert marked == (name != "edge")  # there, a job is not scheduled, so no bar can be marked
    with pytest.raises(UsageError, match="no ratio"):
        sg.ratio(mine, sg.solve(instance, "exact", time_limit=30))


def crowded(instance: Any) -> Any:
    """Return an instance with one machine, or with jobs that need both machines."""
    if instance.family == "elastic":
        jobs = [job.replace(arrival=1) for job in instance.jobs]
        return instance.replace(servers=instance.servers[:1], jobs=jobs)
    return instance.replace(machines=instance.machines[:1])


@pytest.mark.parametrize("name", ["hare", "ring"])
def test_the_schedule_obeys_a_constraint_of_the_user(name: str) -> None:
    instance = TINY[name]
    program = sg.model(instance)
    if name == "hare":
        program.mine = pyo.Constraint(expr=program.x["J2", 2, 1] >= 5)
    else:
        program.mine = pyo.Constraint(expr=sum(program.z["a", t] for t in (1, 2)) == 0)
    mine, best = sg.solve(instance, program), sg.solve(instance, "exact", time_limit=30)
    assert mine.program["changed"] and mine.kind == "algorithm" and mine.status == "feasible"
    assert mine.bound is None and mine.certificate is None and "changed program" in repr(mine)
    assert mine.objective == pytest.approx(mine.program["objective"])
    assert mine.objective > best.objective and sg.verify(instance, mine)
    assert sg.ratio(mine, best).low > 1.0
    if name == "hare":
        starts = {(a["job"], a["round"]): a["start"] for a in mine.schedule["assignments"]}
        assert starts["J2", 2] >= 5
    else:
        assert mine.schedule["jobs"][0]["start"] >= 3
    assert pyo.value(program.objective) == pytest.approx(mine.objective)  # values are stored
    back = sg.Solution.bind(instance, mine.to_data())
    assert back.objective == mine.objective and back.status == "feasible"


def test_another_objective_says_nothing_of_the_optimum() -> None:
    instance = TINY["elastic"]
    program = sg.model(instance)
    program.objective.deactivate()
    program.other = pyo.Objective(expr=sum(program.x.values()), sense=pyo.maximize)
    mine = sg.solve(instance, program)
    assert mine.status == "feasible" and mine.bound is None
    assert mine.program["objective"] == pytest.approx(2) and mine.objective > 2


def test_an_infeasible_program_is_not_an_infeasible_instance() -> None:
    instance = TINY["hare"]
    program = sg.model(instance)
    program.mine = pyo.Constraint(expr=program.C["J1"] <= 0.5)
    mine = sg.solve(instance, program)
    assert mine.program["status"] == "infeasible" and mine.status == "unknown"
    assert "says nothing about the instance" in mine.trace["note"]
    program.C["J1"].fix(0.5)  # a row without free variables that is violated
    program.mine.deactivate()
    program.direct = pyo.Constraint(expr=program.C["J1"] >= 1)
    assert sg.solve(instance, program).program["status"] == "infeasible"


def test_a_linear_relaxation_bounds_the_instance_and_has_duals() -> None:
    for name in ("hare", "dmlrs"):
        instance = TINY[name]
        program = sg.model(instance, relax=True)
        mine, best = sg.solve(instance, program), sg.solve(instance, "exact", time_limit=30)
        assert mine.kind == "bound" and mine.status == "bound" and mine.schedule is None
        sign = 1 if mine.sense == "min" else -1
        assert sign * (best.objective - mine.bound) >= 0
        assert mine.bound == pytest.approx(mine.program["objective"], abs=1e-6)
        assert any(abs(price) > 1e-6 for price in program.dual.values())
        program.mine = pyo.Constraint(expr=pyo.Reference(program.y)[next(iter(program.y))] >= 0.25)
        assert sg.solve(instance, program).bound is None  # a changed relaxation bounds nothing


def test_arrays_come_back_as_schedules() -> None:
    for name, program in (("hare", "time-indexed"), ("edge", "milp-mode"), ("edge", "set-packing")):
        instance = TINY[name]
        mine = sg.solve(instance, sg.model(instance, program))
        best = sg.solve(instance, "exact", time_limit=30)
        assert mine.status == "optimal" and mine.objective == pytest.approx(best.objective)


def test_a_variable_that_is_gone() -> None:
    instance = TINY["dmlrs"]
    program = sg.model(instance)
    program.del_component(program.objective)
    program.objective = pyo.Objective(expr=sum(program.z.values()), sense=pyo.maximize)
    for row in [*program.component_objects(pyo.Constraint)]:
        if any("wE" in str(each.body) for each in row.values()):
            program.del_component(row)
    program.del_component(program.wE)
    mine = sg.solve(instance, program)
    assert mine.program["changed"] and mine.program["status"] == "optimal"
    assert (mine.schedule is None) == bool(mine.broken)


def test_models_of_others_are_refused() -> None:
    toy = TINY["hare"]
    with pytest.raises(UsageError, match=r"change one that schedgap\.model returns"):
        sg.solve(toy, pyo.ConcreteModel())
    with pytest.raises(UsageError, match=r"big-m of hare-toy.*call schedgap.model"):
        sg.solve(TOYS["hare"], sg.model(toy))
    with pytest.raises(UsageError, match="no option 'pairwise'"):
        sg.solve(toy, sg.model(toy), pairwise=True)
    with pytest.raises(UsageError, match=r"column 0 \(.+\) is continuous"):
        sg.solve(toy, sg.model(toy), engine="cp-sat")
    with pytest.raises(UsageError, match="a method must be a name or a function"):
        sg.solve(toy, 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="time limit '1 s'"):
        sg.solve(toy, sg.model(toy), time_limit="1 s")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="time limit -1"):
        sg.solve(toy, sg.model(toy), time_limit=-1)
    curved = sg.model(toy, "relaxed-miqcp")
    with pytest.raises(UsageError, match="can use gurobi, not 'highs'"):
        sg.solve(toy, curved, engine="highs")
    quadratic = sg.model(toy)
    quadratic.mine = pyo.Constraint(expr=quadratic.C["J1"] ** 3 <= 9)
    with pytest.raises(UsageError, match=r"degree|quadratic|rows up to"):
        sg.solve(toy, quadratic)


def _with_set(program: pyo.ConcreteModel) -> None:
    program.mine = pyo.Var([1, 2])
    program.one = pyo.SOSConstraint(var=program.mine, sos=1)


def _with_logic(program: pyo.ConcreteModel) -> None:
    program.mine = pyo.BooleanVar()
    program.one = pyo.LogicalConstraint(expr=pyo.lnot(program.mine))


def _with_nan(program: pyo.ConcreteModel) -> None:
    program.one = pyo.Constraint(expr=program.C["J1"] <= float("nan"))


def _with_nan_cost(program: pyo.ConcreteModel) -> None:
    goal = next(program.component_data_objects(pyo.Objective))
    goal.set_value(goal.expr + float("nan") * program.C["J1"])


def _with_gaps(program: pyo.ConcreteModel) -> None:
    program.mine = pyo.Var(domain=pyo.Set(initialize=[1, 3, 7]))
    program.one = pyo.Constraint(expr=program.mine >= 2)


def _with_any(program: pyo.ConcreteModel) -> None:
    next(program.component_data_objects(pyo.Var)).domain = pyo.Any


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_with_set, r"no rows \(SOSConstraint\)"),
        (_with_logic, r"no rows \(LogicalConstraint"),
        (_with_nan, "not a number"),
        (_with_nan_cost, "not a number"),
        (_with_gaps, "mine: its domain .* is no range"),
        (_with_any, "its domain Any is no range"),
    ],
)
def test_what_no_engine_is_told_is_refused(change: Any, message: str) -> None:
    program = sg.model(TINY["hare"])
    change(program)
    with pytest.raises(UsageError, match=message) as caught:
        sg.solve(TINY["hare"], program)
    assert "\n" not in str(caught.value)


def test_quadratic_rows_by_gurobi() -> None:
    needs("gurobi")
    instance = TINY["hare"]
    mine = sg.solve(instance, sg.model(instance, "relaxed-miqcp"))
    best = sg.solve(instance, "exact", time_limit=30)
    assert mine.engine == "gurobi" and mine.program["status"] == "optimal"
    assert mine.program["objective"] <= best.objective + 1e-6 and mine.bound is None


def test_a_time_limit_keeps_what_was_found() -> None:
    instance = sg.generate("hare", preset="small", seed=1)
    seen: list[Any] = []
    mine = sg.solve(instance, sg.model(instance), time_limit=1, on_message=seen.append)
    assert mine.status in ("feasible", "unknown", "optimal") and mine.options == {"time_limit": 1}
    assert mine.seconds < 15 and {message[0] for message in seen} <= {"incumbent", "bound"}


def test_a_hash_of_another_instance_is_refused_by_verify() -> None:
    mine = sg.solve(TINY["dmlrs"], sg.model(TINY["dmlrs"]))
    with pytest.raises(InputError, match="not a solution of this instance"):
        sg.verify(TOYS["dmlrs"], mine.to_data())


def small_program(**changes: Any) -> pyo.ConcreteModel:
    """Return a program of two columns and two rows; a value of `changes` replaces a number."""
    given = {
        "cost": 3, "least": 1, "most": 9, "row": 5, "low": 2, "factor": 4, "offset": 7, "domain":
        pyo.Integers, "sense": pyo.minimize, "rows": "few", "columns": "y", "square": 0, "sign": 1,
    } | changes  # fmt: skip
    program = pyo.ConcreteModel()
    program.x = pyo.Var(bounds=(given["least"], given["most"]), domain=given["domain"])
    program.add_component(given["columns"], pyo.Var(bounds=(0, 1)))
    y = program.component(given["columns"])
    program.add_component(given["rows"], pyo.Constraint(expr=program.x + y <= given["row"]))
    program.least = pyo.Constraint(expr=given["factor"] * program.x - y >= given["low"])
    objective = given["cost"] * program.x + y + given["offset"] + given["square"] * y * y
    program.value = pyo.Objective(expr=given["sign"] * objective, sense=given["sense"])
    return program


@pytest.mark.parametrize(
    "change",
    [
        {"cost": 4}, {"least": 0}, {"most": 8}, {"row": 6}, {"low": 1}, {"factor": 3},
        {"offset": 6}, {"domain": pyo.Reals}, {"sense": pyo.maximize}, {"rows": "other"},
        {"columns": "z"}, {"square": 1},
    ],
)  # fmt: skip
def test_every_change_of_a_program_is_seen(change: dict[str, Any]) -> None:
    before, after = _compiled(small_program()), _compiled(small_program(**change))
    assert before is not None and after is not None
    assert _same(before, _compiled(small_program()))
    assert not _same(before, after) and not _same(after, before)
    assert not _same(before, None)


def test_the_sense_and_quadratic_terms_are_part_of_a_program() -> None:
    before, after = small_program(), small_program(sense=pyo.maximize, sign=-1)  # same arrays
    one, other = _compiled(before), _compiled(after)
    assert one is not None and other is not None and not _same(one, other)
    one, other = _compiled(small_program(square=1)), _compiled(small_program(square=2))
    assert one is not None and _same(one, _compiled(small_program(square=1)))
    assert not _same(one, other)


def test_an_unchanged_program_that_is_infeasible_when_built_is_not_called_changed() -> None:
    instance = TINY["edge"].replace(jobs=[TINY["edge"].jobs[0].replace(epochs=10_000)])
    program = sg.model(instance, "milp-mode")
    mine = sg.solve(instance, program)
    assert not mine.program["changed"] and mine.status == "infeasible"
    assert sg.solve(instance, "exact", time_limit=20).status == "infeasible"
    relaxed = sg.solve(instance, sg.model(instance, "milp-mode", relax=True))
    assert relaxed.status == "unknown" and "changed" not in repr(relaxed)
    program.more = pyo.Var(bounds=(0, 1))
    mine = sg.solve(instance, program)
    assert mine.program["changed"] and mine.status == "unknown"


def test_variables_fixed_at_a_solution_do_not_make_a_program_infeasible() -> None:
    instance = TINY["hare"]
    program = sg.model(instance, "fluid-lp")
    best = sg.solve(instance, program).program["objective"]
    for column in program.component_data_objects(pyo.Var):
        column.fix(column.value * (1 + 1e-9))  # as an engine's tolerance leaves it
    again = sg.solve(instance, program)
    assert again.program["objective"] == pytest.approx(best) and again.bound is None
    program.mine = pyo.Constraint(expr=column >= column.value + 1)
    assert sg.solve(instance, program).program["status"] == "infeasible"


def test_a_power_of_fixed_variables_is_one_line() -> None:
    needs("gurobi")
    program = sg.model(TINY["hare"], "relaxed-miqcp")
    program.y["J1", :, :, "GPU1"].fix(0.5)
    program.y["J2", :, :, "GPU1"].fix(0.5)
    with pytest.raises(UsageError, match=r"eq_9\[GPU1\].* equal bounds"):
        sg.solve(TINY["hare"], program)


WAITS = """
import pyomo.environ as pyo
import schedgap as sg

def plain(instance):
    return sg.model(instance)

def waits(instance, by=3):
    program = sg.model(instance)
    program.mine = pyo.Constraint(expr=program.x[instance.jobs[0].id, 1, 1] >= by)
    return program

def nothing(instance):
    program = sg.model(instance)
    program.never = pyo.Constraint(expr=program.x[instance.jobs[0].id, 1, 1] >= 10**6)
    return program
"""


def test_functions_that_return_models_are_compared(tmp_path: Any) -> None:
    file = tmp_path / "waits.py"
    file.write_text(WAITS)
    space: dict[str, Any] = {}
    exec(WAITS, space)
    toys = [TINY["hare"], TINY["hare"].replace(name="again", jobs=TOYS["hare"].jobs[1:])]
    methods = [space["waits"], f"late={file}:waits:by=5", f"{file}:plain", f"{file}:nothing"]
    run = sg.compare(toys, methods=["exact", *methods], workers=1, time_limit=30)
    table = run.table().set_index(["instance", "method"])
    for toy in toys:
        rows = table.loc[toy.name]
        best = rows.objective["exact"]
        assert (
            rows.objective["plain"]
            == best
            <= rows.objective["waits"]
            <= rows.objective["late:by=5"]
        )
        for name, by in (("waits", 3), ("late:by=5", 5)):
            by_hand = sg.solve(toy, space["waits"](toy, by=by))
            assert rows.objective[name] == by_hand.objective
            assert rows.status[name] == "feasible"
    own = [each.solution for each in run.records if each.method != "exact" and each.solution]
    assert len(own) == 6  # the file is not trusted: even the unchanged program has no bound
    assert all(each.bound is None and each.status == "feasible" for each in own)
    failed = [record for record in run.records if record.method == "nothing"]
    assert len(failed) == 2
    assert all("program is infeasible; this says nothing" in each.message for each in failed)
