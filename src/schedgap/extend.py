"""All that a family of another package is made of; docs/adding-a-paper.md builds one with it.

>>> from schedgap.extend import Family, Instance, Method, Violation

Each name is imported when it is first used.
"""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.errors import InputError as InputError
    from schedgap.errors import UsageError as UsageError
    from schedgap.instances.generate import Generated as Generated
    from schedgap.instances.generate import Generator as Generator
    from schedgap.instances.generate import Preset as Preset
    from schedgap.instances.generate import Request as Request
    from schedgap.instances.generate import generate as generate
    from schedgap.instances.generate import with_defaults as with_defaults
    from schedgap.instances.instance import Instance as Instance
    from schedgap.instances.mutations import Space as Space
    from schedgap.instances.presets import load_presets as load_presets
    from schedgap.instances.records import Absent as Absent
    from schedgap.instances.records import Count as Count
    from schedgap.instances.records import Id as Id
    from schedgap.instances.records import Keyed as Keyed
    from schedgap.instances.records import Many as Many
    from schedgap.instances.records import NonEmpty as NonEmpty
    from schedgap.instances.records import NonNegative as NonNegative
    from schedgap.instances.records import Positive as Positive
    from schedgap.instances.records import Record as Record
    from schedgap.instances.records import Schedule as Schedule
    from schedgap.instances.records import field_error as field_error
    from schedgap.instances.records import require_unique as require_unique
    from schedgap.instances.records import validate as validate
    from schedgap.instances.settings import Option as Option
    from schedgap.instances.verdict import Violation as Violation
    from schedgap.models.certificates import Certificate as Certificate
    from schedgap.models.certificates import proved as proved
    from schedgap.models.certificates import read
    from schedgap.models.family import Bar as Bar
    from schedgap.models.family import Chart as Chart
    from schedgap.models.family import Family as Family
    from schedgap.models.family import Link as Link
    from schedgap.models.figure import Claim as Claim
    from schedgap.models.figure import Draw as Draw
    from schedgap.models.figure import Experiment as Experiment
    from schedgap.models.figure import bars as bars
    from schedgap.models.figure import best as best
    from schedgap.models.figure import curves as curves
    from schedgap.models.figure import lower_by as lower_by
    from schedgap.models.figure import monotone as monotone
    from schedgap.models.method import Algorithm as Algorithm
    from schedgap.models.method import AlgorithmRun as AlgorithmRun
    from schedgap.models.method import Keywords as Keywords
    from schedgap.models.method import Lazy as Lazy
    from schedgap.models.method import Method as Method
    from schedgap.models.method import MethodResult as MethodResult
    from schedgap.models.method import RunContext as RunContext
    from schedgap.models.method import Within as Within
    from schedgap.models.paper import Algorithm as _PrintedAlgorithm
    from schedgap.models.paper import Equation as Equation
    from schedgap.models.paper import Erratum as Erratum
    from schedgap.models.paper import Guarantee as Guarantee
    from schedgap.models.paper import Paper as Paper
    from schedgap.models.paper import Symbol as Symbol
    from schedgap.models.paper import load_paper as load_paper
    from schedgap.models.program import Program as Program
    from schedgap.models.search_state import SearchState as SearchState
    from schedgap.solvers.children.clock import Clock as Clock
    from schedgap.solvers.engines.solve import solve

    PrintedAlgorithm = _PrintedAlgorithm
    problem = field_error
    read_certificate = read
    solve_program = solve
else:
    __getattr__, __dir__ = lazy.attributes(__name__)
