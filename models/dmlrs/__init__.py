"""Family `dmlrs`: online admission and placement of parameter-server jobs for utility."""

from pathlib import Path
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs import methods, rules
from schedgap.models.dmlrs.methods import ALIASES, METHODS
from schedgap.models.family import Family
from schedgap.models.method import Lazy
from schedgap.models.online import Decision, past_rows
from schedgap.models.paper import load_paper


def _past(instance: DmlrsInstance, schedule: Any, now: float) -> list[Decision]:
    """Return the allocations in the slots before a time."""
    return past_rows(schedule["allocations"], "slot", now)


FAMILY: Family[DmlrsInstance, DmlrsSchedule] = Family(
    name="dmlrs",
    title=DmlrsInstance.title,
    paper=load_paper(Path(__file__).with_name("paper.toml")),
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "max",
    check=rules.check,
    objective=rules.objective,
    past=_past,
    chart=Lazy("schedgap.models.dmlrs.gantt:chart"),
    metrics=rules.metrics,
    null_schedule=lambda instance: {"admitted": [], "allocations": []},
    check_certificate=Lazy("schedgap.models.dmlrs.bounds.certificates:check_certificate"),
    programs=methods.PROGRAMS,
    index_names=Lazy("schedgap.models.dmlrs.programs.table:index_names"),
    suite=methods.suite,
    experiments=Lazy("schedgap.models.dmlrs.figures:experiments"),
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
