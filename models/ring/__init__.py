"""Family `ring`: makespan of ring-all-reduce jobs under communication contention."""

from pathlib import Path

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.family import Family
from schedgap.models.method import Lazy
from schedgap.models.paper import load_paper
from schedgap.models.ring import methods, rules
from schedgap.models.ring.methods import ALIASES, METHODS

_no_schedule = Lazy("schedgap.models.ring.rates:no_schedule")

FAMILY: Family[RingInstance, RingSchedule] = Family(
    name="ring",
    title=RingInstance.title,
    paper=load_paper(Path(__file__).with_name("paper.toml")),
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "min",
    check=rules.check,
    objective=rules.objective,
    chart=Lazy("schedgap.models.ring.gantt:chart"),
    grid=lambda instance: 1.0,
    refute=lambda instance, options: _no_schedule(instance),
    metrics=Lazy("schedgap.models.ring.simulator:metrics"),
    check_certificate=Lazy("schedgap.models.ring.bounds.certificates:check_certificate"),
    programs=methods.PROGRAMS,
    index_names=Lazy("schedgap.models.ring.programs.table:index_names"),
    suite=methods.suite,
    experiments=Lazy("schedgap.models.ring.figures:experiments"),
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
