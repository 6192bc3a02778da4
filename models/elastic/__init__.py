"""Family `elastic`: parameter-server and Ring-AllReduce jobs with elastic numbers of workers."""

from pathlib import Path
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import methods, rules
from schedgap.models.elastic.methods import ALIASES, METHODS
from schedgap.models.family import Family
from schedgap.models.method import Lazy
from schedgap.models.online import Decision, past_runs
from schedgap.models.paper import load_paper

_no_schedule = Lazy("schedgap.models.elastic.time_windows:no_schedule")


def _past(instance: ElasticInstance, schedule: Any, now: float) -> list[Decision]:
    """Return what runs before a slot."""
    return past_runs(schedule["jobs"], now, lambda run: run["start"] + run["duration"])


FAMILY: Family[ElasticInstance, ElasticSchedule] = Family(
    name="elastic",
    title=ElasticInstance.title,
    paper=load_paper(Path(__file__).with_name("paper.toml")),
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "max" if instance.is_batch else "min",
    check=rules.check,
    objective=rules.objective,
    past=_past,
    chart=Lazy("schedgap.models.elastic.gantt:chart"),
    grid=Lazy("schedgap.models.elastic.programs.weights:value_step"),
    refute=lambda instance, options: _no_schedule(instance),
    omitted_rules=rules.omitted_rules,
    metrics=rules.metrics,
    check_certificate=Lazy("schedgap.models.elastic.bounds.certificates:check_certificate"),
    programs=methods.PROGRAMS,
    index_names=Lazy("schedgap.models.elastic.programs.table:index_names"),
    suite=methods.suite,
    experiments=Lazy("schedgap.models.elastic.figures:experiments"),
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
