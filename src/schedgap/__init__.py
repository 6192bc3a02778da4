"""Exact programs and published algorithms for scheduling ML jobs, with certified gaps.

The functions correspond to the commands of the command line. Each is imported when it is first
used. Methods run in child processes, so no engine is imported into this one.

>>> import schedgap as sg
>>> instance = sg.generate("hare", preset="small", seed=1)  # or sg.load("my.json")
>>> best = sg.solve(instance, "exact", time_limit=60)
>>> paper = sg.solve(instance, "hare", gpu_rule="available")
>>> sg.ratio(paper, best)
"""

from typing import TYPE_CHECKING, Any

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.analysis.book.records import RecordBook as RecordBook
    from schedgap.analysis.book.records import records as records
    from schedgap.analysis.comparing.bench import bench as bench
    from schedgap.analysis.comparing.compare import compare as compare
    from schedgap.analysis.comparing.judged import JudgedSchedule as JudgedSchedule
    from schedgap.analysis.comparing.judged import judge as judge
    from schedgap.analysis.comparing.judged import ratio as ratio
    from schedgap.analysis.comparing.run import Run as Run
    from schedgap.analysis.own.reading import online as online
    from schedgap.analysis.own.reading import own as own
    from schedgap.analysis.pages.listing import engines as engines
    from schedgap.analysis.pages.listing import families as families
    from schedgap.analysis.pages.listing import methods as methods
    from schedgap.analysis.pages.listing import models as models
    from schedgap.analysis.pages.listing import presets as presets
    from schedgap.analysis.plots.figure import Figure as Figure
    from schedgap.analysis.programs.models import model as model
    from schedgap.analysis.records.ratios import RatioInterval as RatioInterval
    from schedgap.analysis.report.page import report as report
    from schedgap.analysis.results.solution import Solution as Solution
    from schedgap.analysis.results.solution import load_solution as load_solution
    from schedgap.analysis.results.verifying import verify as verify
    from schedgap.analysis.solving.solve import solve as solve
    from schedgap.analysis.statistics.sweeps import grid as grid
    from schedgap.analysis.studies.explore import Explorer as Explorer
    from schedgap.analysis.studies.explore import explore as explore
    from schedgap.analysis.studies.finds import WorstCase as WorstCase
    from schedgap.analysis.studies.formulations import formulations as formulations
    from schedgap.analysis.studies.worst_case import worst_case as worst_case
    from schedgap.analysis.studies.worst_case import worst_grid as worst_grid
    from schedgap.instances.book import load as load
    from schedgap.instances.build import instance as instance
    from schedgap.instances.dmlrs import DmlrsInstance as DmlrsInstance
    from schedgap.instances.edge import EdgeInstance as EdgeInstance
    from schedgap.instances.elastic import ElasticInstance as ElasticInstance
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
    from schedgap.version import __version__ as __version__
else:
    _imported, __dir__ = lazy.attributes(__name__)

    def __getattr__(name: str) -> Any:
        if name == "models":  # the package of the families, which is also a function
            from importlib import import_module

            return import_module("schedgap.models")
        return _imported(name)
