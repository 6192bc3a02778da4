"""Family `hare`: tasks of synchronised training rounds on heterogeneous GPUs (HPDC 2022)."""

from schedgap.instances.hare import HareInstance
from schedgap.models.family import Family
from schedgap.models.hare import paper, picture, rules
from schedgap.models.hare.suite import suite

METHODS = ()
ALIASES = {"exact": "hybrid"}

FAMILY = Family(
    name="hare",
    title=HareInstance.title,
    paper=paper.CITATION,
    methods=METHODS,
    aliases=ALIASES,
    sense=lambda instance: "min",
    check=rules.check,
    objective=rules.objective,
    chart=picture.chart,
    problem=lambda options: "fixed" if options.get("synchronization") == "fixed" else "",
    guarantees=lambda instance, method: paper.PAPER.guarantee(method, instance),
    suite=suite,
)

__all__ = ["ALIASES", "FAMILY", "METHODS"]
