"""Family `hare`: tasks of synchronised training rounds on heterogeneous GPUs (HPDC 2022)."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedgap.instances.hare import HareInstance
from schedgap.instances.hare.scale import grid
from schedgap.models.family import Family
from schedgap.models.hare import methods, rules
from schedgap.models.hare.methods import ALIASES, METHODS
from schedgap.models.method import Lazy
from schedgap.models.online import Decision, past_rows
from schedgap.models.paper import load_paper

if TYPE_CHECKING:  # it loads NumPy
    from schedgap.instances.hare import HareSchedule

_switching = Lazy("schedgap.models.hare.replay:switching_metrics")  # it loads NumPy


def _metrics(instance: HareInstance, schedule: Any) -> Mapping[str, float]:
    """Return the jobs complete by given times, and what switching costs, where they are known."""
    found = rules.metrics(instance, schedule)
    return found | _switching(instance, schedule) if instance.switching else found


def _past(instance: HareInstance, schedule: Any, now: float) -> list[Decision]:
    """Return the tasks that start before a time."""
    return past_rows(schedule["assignments"], "start", now)


FAMILY: "Family[HareInstance, HareSchedule]" = Family(
    name="hare",
    title=HareInstance.title,
    paper=load_paper(Path(__file__).with_name("paper.toml")),
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "min",
    check=rules.check,
    objective=rules.objective,
    past=_past,
    chart=Lazy("schedgap.models.hare.gantt:chart"),
    problem=lambda options: "fixed" if options.get("synchronization") == "fixed" else "",
    refute=Lazy("schedgap.models.hare.integer_time:no_schedule"),
    metrics=_metrics,
    grid=grid,
    check_certificate=Lazy("schedgap.models.hare.bounds.certificates:check_certificate"),
    programs=methods.PROGRAMS,
    index_names=Lazy("schedgap.models.hare.programs.table:index_names"),
    suite=methods.suite,
    experiments=Lazy("schedgap.models.hare.figures:experiments"),
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
