"""Family `hare`: tasks of synchronised training rounds on heterogeneous GPUs (HPDC 2022)."""

from schedgap.instances.hare import HareInstance
from schedgap.models.family import Family
from schedgap.models.hare import (
    certificates,
    paper,
    picture,
    programs,
    rules,
    run_baselines,
    run_bounds,
    run_exact,
    run_hare,
    run_search,
    windows,
)
from schedgap.models.hare.figures import experiments
from schedgap.models.hare.suite import suite
from schedgap.models.method import Method

METHODS: tuple[Method, ...] = (
    *run_exact.METHODS,
    *run_bounds.METHODS,
    *run_hare.METHODS,
    *run_search.METHODS,
    *run_baselines.METHODS,
)
ALIASES = {"exact": "hybrid"}

FAMILY = Family(
    name="hare",
    title=HareInstance.title,
    paper=paper.PAPER,
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "min",
    check=rules.check,
    objective=rules.objective,
    chart=picture.chart,
    problem=lambda options: "fixed" if options.get("synchronization") == "fixed" else "",
    grid=windows.grid,
    check_certificate=certificates.check_certificate,
    programs=programs.PROGRAMS,
    suite=suite,
    experiments=experiments,
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
