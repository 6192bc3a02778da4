"""Family `ring`: ring-all-reduce jobs under communication contention, makespan."""

from schedgap.instances.ring import RingInstance
from schedgap.models.family import Family
from schedgap.models.method import Method
from schedgap.models.ring import (
    certificates,
    measures,
    paper,
    picture,
    programs,
    rules,
    run_algorithms,
    run_baselines,
    run_bounds,
    run_exact,
    run_programs,
    run_search,
)
from schedgap.models.ring.figures import experiments
from schedgap.models.ring.suite import suite

METHODS: tuple[Method, ...] = (
    *run_exact.METHODS,
    *run_programs.METHODS,
    *run_bounds.METHODS,
    *run_algorithms.METHODS,
    *run_search.METHODS,
    *run_baselines.METHODS,
)
ALIASES = {"exact": "staged-cp"}

FAMILY = Family(
    name="ring",
    title=RingInstance.title,
    paper=paper.PAPER,
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "min",
    check=rules.check,
    objective=rules.objective,
    chart=picture.chart,
    grid=lambda instance: 1.0,
    beside=measures.beside,
    check_certificate=certificates.check_certificate,
    programs=programs.PROGRAMS,
    suite=suite,
    experiments=experiments,
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
