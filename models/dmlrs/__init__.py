"""Family `dmlrs`: online admission and placement of parameter-server jobs for utility."""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import (
    certificates,
    paper,
    picture,
    programs,
    rules,
    run_algorithms,
    run_baselines,
    run_bounds,
    run_exact,
    run_heuristics,
)
from schedgap.models.dmlrs.figures import experiments
from schedgap.models.dmlrs.suite import suite
from schedgap.models.family import Family
from schedgap.models.method import Method

METHODS: tuple[Method, ...] = (
    *run_exact.METHODS,
    *run_bounds.METHODS,
    *run_algorithms.METHODS,
    *run_heuristics.METHODS,
    *run_baselines.METHODS,
)
ALIASES = {"exact": "pattern-fix"}

FAMILY = Family(
    name="dmlrs",
    title=DmlrsInstance.title,
    paper=paper.PAPER,
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "max",
    check=rules.check,
    objective=rules.objective,
    chart=picture.chart,
    beside=rules.beside,
    idle=lambda instance: {"admitted": [], "allocations": []},
    check_certificate=certificates.check_certificate,
    programs=programs.PROGRAMS,
    suite=suite,
    experiments=experiments,
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
