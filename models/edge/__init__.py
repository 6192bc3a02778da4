"""Family `edge`: parameter-server jobs in an edge-cloud network, total completion time."""

from pathlib import Path
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge import methods, rules
from schedgap.models.edge.methods import ALIASES, METHODS
from schedgap.models.family import Family
from schedgap.models.method import Lazy
from schedgap.models.online import Decision, past_runs
from schedgap.models.paper import load_paper

_no_schedule = Lazy("schedgap.models.edge.decisions:infeasibility_reason")


def _past(instance: EdgeInstance, schedule: Any, now: float) -> list[Decision]:
    """Return what runs before a slot."""
    return past_runs(schedule["jobs"], now, lambda run: run.get("end", run.get("completion")) + 1)


FAMILY: Family[EdgeInstance, EdgeSchedule] = Family(
    name="edge",
    title=EdgeInstance.title,
    paper=load_paper(Path(__file__).with_name("paper.toml")),
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "max" if instance.is_batch else "min",
    check=rules.check,
    objective=rules.objective,
    past=_past,
    chart=Lazy("schedgap.models.edge.gantt:chart"),
    grid=lambda instance: 1.0,
    refute=lambda instance, options: _no_schedule(instance),
    omitted_rules=rules.omitted_rules,
    metrics=rules.metrics,
    check_certificate=Lazy("schedgap.models.edge.bounds.certificates:check_certificate"),
    programs=methods.PROGRAMS,
    index_names=Lazy("schedgap.models.edge.programs.table:index_names"),
    suite=methods.suite,
    experiments=Lazy("schedgap.models.edge.figures:experiments"),
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
