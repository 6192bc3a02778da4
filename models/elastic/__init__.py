"""Family `elastic`: elastic parameter-server and Ring-AllReduce jobs, weighted completion time."""

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import (
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
    windows,
)
from schedgap.models.elastic.figures import experiments
from schedgap.models.elastic.suite import suite
from schedgap.models.family import Family
from schedgap.models.method import Method

METHODS: tuple[Method, ...] = (
    *run_exact.METHODS,
    *run_bounds.METHODS,
    *run_algorithms.METHODS,
    *run_lists.METHODS,
    *run_baselines.METHODS,
)
ALIASES = {"exact": "price-and-enumerate"}

FAMILY = Family(
    name="elastic",
    title=ElasticInstance.title,
    paper=paper.PAPER,
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "max" if instance.is_batch else "min",
    check=rules.check,
    objective=rules.objective,
    chart=picture.chart,
    grid=windows.value_step,
    relaxed=rules.relaxed,
    beside=rules.beside,
    check_certificate=certificates.check_certificate,
    programs=programs.PROGRAMS,
    suite=suite,
    experiments=experiments,
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
