"""Family `edge`: parameter-server jobs in an edge-cloud network, total completion time."""

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import (
    certificates,
    paper,
    picture,
    programs,
    rules,
    run_algorithms,
    run_baselines,
    run_bounds,
    run_exact,
    run_lists,
)
from schedgap.models.edge.figures import experiments
from schedgap.models.edge.suite import suite
from schedgap.models.family import Family
from schedgap.models.method import Method

METHODS: tuple[Method, ...] = (
    *run_exact.METHODS,
    *run_bounds.METHODS,
    *run_algorithms.METHODS,
    *run_lists.METHODS,
    *run_baselines.METHODS,
)
ALIASES = {"exact": "column-fix"}

FAMILY = Family(
    name="edge",
    title=EdgeInstance.title,
    paper=paper.PAPER,
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "max" if instance.is_batch else "min",
    check=rules.check,
    objective=rules.objective,
    chart=picture.chart,
    grid=lambda instance: 1.0,
    relaxed=rules.relaxed,
    beside=rules.beside,
    check_certificate=certificates.check_certificate,
    programs=programs.PROGRAMS,
    suite=suite,
    experiments=experiments,
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
