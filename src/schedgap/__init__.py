"""Exact programs and published algorithms for scheduling ML jobs, with certified gaps.

The functions correspond to the commands of the command line. Each is imported when it is first
used. Methods run in child processes, so that no engine is imported into this one.

>>> import schedgap as sg
>>> instance = sg.generate("hare", preset="small", seed=1)  # or sg.load("my.json")
>>> best = sg.solve(instance, "exact", time_limit=60)
>>> paper = sg.solve(instance, "hare", gpu_rule="available")
>>> sg.ratio(paper, best)
"""

from typing import TYPE_CHECKING, Any

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.analysis.comparing import compare as compare
    from schedgap.analysis.explore import Explorer as Explorer
    from schedgap.analysis.explore import explore as explore
    from schedgap.analysis.formulations import formulations as formulations
    from schedgap.analysis.judged import JudgedSchedule as JudgedSchedule
    from schedgap.analysis.judged import judge as judge
    from schedgap.analysis.judged import ratio as ratio
    from schedgap.analysis.listing import families as families
    from schedgap.analysis.listing import methods as methods
    from schedgap.analysis.listing import models as models
    from schedgap.analysis.listing import presets as presets
    from schedgap.analysis.own import online as online
    from schedgap.analysis.own import own as own
    from schedgap.analysis.programs import model as model
    from schedgap.analysis.ratios import RatioInterval as RatioInterval
    from schedgap.analysis.report import write_report as report
    from schedgap.analysis.runs import Run as Run
    from schedgap.analysis.solution import Solution as Solution
    from schedgap.analysis.solution import load_solution as load_solution
    from schedgap.analysis.solving import solve as solve
    from schedgap.analysis.sweeps import grid as grid
    from schedgap.analysis.verifying import verify as verify
    from schedgap.analysis.worst_case import WorstCase as WorstCase
    from schedgap.analysis.worst_case import worst_case as worst_case
    from schedgap.analysis.worst_case import worst_grid as worst_grid
    from schedgap.instances.build import instance as instance
    from schedgap.instances.dmlrs import DmlrsInstance as DmlrsInstance
    from schedgap.instances.edge import EdgeInstance as EdgeInstance
    from schedgap.instances.elastic import ElasticInstance as ElasticInstance
    from schedgap.instances.families import load as load
    from schedgap.instances.generate import generate as generate
    from schedgap.instances.hare import HareInstance as HareInstance
    from schedgap.instances.instance import Instance as Instance
    from schedgap.instances.library import library as library
    from schedgap.instances.loads import offered_load as offered_load
    from schedgap.instances.ring import RingInstance as RingInstance
    from schedgap.instances.traces.matrix import trace_instances as trace_instances
    from schedgap.instances.verdict import Verdict as Verdict
    from schedgap.models.family import Family as Family
    from schedgap.models.family import register as register

    __version__: str

_PUBLIC = {  # name -> "module:attribute", imported on first use
    "Family": "schedgap.models.family:Family",
    "Instance": "schedgap.instances.instance:Instance",
    "JudgedSchedule": "schedgap.analysis.judged:JudgedSchedule",
    "RatioInterval": "schedgap.analysis.ratios:RatioInterval",
    "Run": "schedgap.analysis.runs:Run",
    "Solution": "schedgap.analysis.solution:Solution",
    "Verdict": "schedgap.instances.verdict:Verdict",
    "WorstCase": "schedgap.analysis.worst_case:WorstCase",
    "compare": "schedgap.analysis.comparing:compare",
    "generate": "schedgap.instances.generate:generate",
    "grid": "schedgap.analysis.sweeps:grid",
    "judge": "schedgap.analysis.judged:judge",
    "library": "schedgap.instances.library:library",
    "load": "schedgap.instances.families:load",
    "load_solution": "schedgap.analysis.solution:load_solution",
    "methods": "schedgap.analysis.listing:methods",
    "online": "schedgap.analysis.own:online",
    "own": "schedgap.analysis.own:own",
    "model": "schedgap.analysis.programs:model",
    "offered_load": "schedgap.instances.loads:offered_load",
    "register": "schedgap.models.family:register",
    "ratio": "schedgap.analysis.judged:ratio",
    "report": "schedgap.analysis.report:write_report",
    "solve": "schedgap.analysis.solving:solve",
    "trace_instances": "schedgap.instances.traces.matrix:trace_instances",
    "verify": "schedgap.analysis.verifying:verify",
    "families": "schedgap.analysis.listing:families",
    "presets": "schedgap.analysis.listing:presets",
    "Explorer": "schedgap.analysis.explore:Explorer",
    "explore": "schedgap.analysis.explore:explore",
    "formulations": "schedgap.analysis.formulations:formulations",
    "HareInstance": "schedgap.instances.hare:HareInstance",
    "ElasticInstance": "schedgap.instances.elastic:ElasticInstance",
    "EdgeInstance": "schedgap.instances.edge:EdgeInstance",
    "RingInstance": "schedgap.instances.ring:RingInstance",
    "DmlrsInstance": "schedgap.instances.dmlrs:DmlrsInstance",
    "instance": "schedgap.instances.build:instance",
    "worst_case": "schedgap.analysis.worst_case:worst_case",
    "worst_grid": "schedgap.analysis.worst_case:worst_grid",
}

__all__ = [
    "DmlrsInstance",
    "EdgeInstance",
    "ElasticInstance",
    "Explorer",
    "Family",
    "HareInstance",
    "Instance",
    "JudgedSchedule",
    "RatioInterval",
    "RingInstance",
    "Run",
    "Solution",
    "Verdict",
    "WorstCase",
    "__version__",
    "compare",
    "explore",
    "families",
    "formulations",
    "generate",
    "grid",
    "instance",
    "judge",
    "library",
    "load",
    "load_solution",
    "methods",
    "model",
    "models",
    "offered_load",
    "online",
    "own",
    "presets",
    "ratio",
    "register",
    "report",
    "solve",
    "trace_instances",
    "verify",
    "worst_case",
    "worst_grid",
]

_imported, _names = lazy.attributes(__name__, _PUBLIC)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("schedgap")
    if name == "models":  # the package of the families, which is also a function
        from importlib import import_module

        return import_module("schedgap.models")
    return _imported(name)


def __dir__() -> list[str]:
    return sorted({*_names(), *__all__})
