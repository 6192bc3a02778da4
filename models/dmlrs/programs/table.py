"""The programs of family `dmlrs`, and the names of what their indices stand for."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.method import Lazy
from schedgap.models.program import Program, by_name

_BUILD = "schedgap.models.dmlrs.exact.build_programs"


_PRINTED = by_name(
    {
        "job": "lin_once",
        "job slot": "y e v_across eq_2 eq_2_across_workers eq_2_across_ps eq_4 eq_6",
        "job slot row": "eq_3",
        "job slot machine": "z wI sI wE sE v_inside eq_2_inside eq_2_inside_workers eq_2_inside_ps "
        "eq_4_workers eq_4_ps eq_4_each_worker eq_4_each_ps",
        "machine slot resource": "eq_5",
    }
)
_FLUID = {"Y": "job row", "W_q": "job row row", "job": "job row",
          "capacity": "row resource#"}  # fmt: skip
_DUAL = {"p": "slot resource#", "payoff": "job#", "eq_11": "schedule"}
_PRIMAL = {"x": "schedule", "once": "job#", "capacity": "slot resource#"}
# programs of one job: `arriving` is its index, there is no other job
_SINGLE = {
    name: kinds.replace("job", "arriving")
    for name, kinds in (_PRINTED | {"eq_18": "machine slot resource"}).items()
}
_SLOT_19 = {"vI": "machine number", "vE": "number", "w": "machine", "s": "machine",
            "eq_18": "machine resource"}  # fmt: skip
_SLOT_22 = {"z": "machine", "eq_18": "machine resource"}
_SLOT_23 = {"w": "machine#", "s": "machine#", "eq_24": "used# machine#"}


def index_names(instance: DmlrsInstance) -> Mapping[str, list[tuple[Any, ...]]]:
    """Return the names of jobs, machines and resources.

    Slots count from 1. The index `mode` is 0 inside one machine and 1 across machines, and `number`
    is a number of workers. `used` is a resource that the arriving job uses, and `schedule` a key of
    `model.schedules`.
    """
    from schedgap.models.dmlrs.programs.subproblems import arriving

    jobs = [(job.id,) for job in instance.jobs]
    last = arriving(instance)
    return {
        "job": jobs,
        "machine": [(machine.id,) for machine in instance.machines],
        "resource": [(name,) for name in instance.resources],
        "arriving": [] if last is None else [jobs[last]],
        "used": [] if last is None else _used(instance, last),
    }


def _used(instance: DmlrsInstance, job: int) -> list[tuple[str]]:
    """Return the resources that a job uses."""
    demands = instance.jobs[job].worker_demand, instance.jobs[job].ps_demand
    return [(r,) for r in instance.resources if any(demand.get(r, 0) > 0 for demand in demands)]


def _subproblem(
    summary: str, equation: str, indices: Mapping[str, str], *also: str
) -> Program[DmlrsInstance, DmlrsSchedule]:
    """Return a subproblem of the last job to arrive."""
    build = Lazy("schedgap.models.dmlrs.programs.subproblems:of_the_last_job")
    return Program(
        summary,
        "subproblem",
        partial(build, equation=equation),
        equations=f"({equation.split()[0]})",
        indices=indices,
        also=also,
    )


PROGRAMS: Mapping[str, Program[DmlrsInstance, DmlrsSchedule]] = {
    "milp-machine": Program(
        "the paper's program, linearised, machine by machine",
        "exact",
        partial(Lazy(f"{_BUILD}:milp_machine"), max_columns=None),
        equations="(3)-(7)",
        indices=_PRINTED,
        also=("printed",),
    ),
    "fluid-lp": Program(
        "linear program without machines; fractional workers",
        "relaxation",
        Lazy(f"{_BUILD}:fluid_lp"),
        indices=_FLUID,
    ),
    "primal-8": Program(
        "R-DMLRS: one column for each schedule of each job, all machines merged; tiny instances",
        "relaxation",
        Lazy("schedgap.models.dmlrs.programs.dual:build_primal"),
        equations="(8), (9)",
        indices=_PRIMAL,
        also=("primal",),
    ),
    "dual-10": Program(
        "the dual of the linear relaxation of `primal-8`: a row for each schedule",
        "dual",
        Lazy("schedgap.models.dmlrs.programs.dual:build"),
        equations="(10), (11)",
        indices=_DUAL,
        also=("dual",),
    ),
    "sub-15": _subproblem("the schedule of largest payoff for the last job", "15", _SINGLE),
    "sub-16": _subproblem("the cheapest schedule of the last job", "16", _SINGLE),
    "sub-19": _subproblem("the cheapest way to run the last job in one slot", "19", _SLOT_19),
    "sub-22": _subproblem("the cheapest single machine for the last job", "22", _SLOT_22),
    "sub-23": _subproblem("the cheapest machines for the last job in one slot", "23", _SLOT_23),
    "sub-23-relaxed": _subproblem(
        "the linear relaxation of `sub-23`, which Algorithm 4 solves and rounds",
        "23 relaxed",
        _SLOT_23,
        "rounded",
    ),
}
