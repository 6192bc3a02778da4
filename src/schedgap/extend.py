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
    from schedgap.instances.records import problem as problem
    from schedgap.instances.records import require_unique as require_unique
    from schedgap.instances.records import validate as validate
    from schedgap.instances.settings import Option as Option
    from schedgap.instances.verdict import Violation as Violation
    from schedgap.models.certificates import Certificate as Certificate
    from schedgap.models.certificates import proved as proved
    from schedgap.models.certificates import read as read_certificate
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
    from schedgap.models.method import Lazy as Lazy
    from schedgap.models.method import Method as Method
    from schedgap.models.method import MethodResult as MethodResult
    from schedgap.models.method import RunContext as RunContext
    from schedgap.models.paper import Algorithm as PrintedAlgorithm
    from schedgap.models.paper import Equation as Equation
    from schedgap.models.paper import Erratum as Erratum
    from schedgap.models.paper import Guarantee as Guarantee
    from schedgap.models.paper import Paper as Paper
    from schedgap.models.paper import Symbol as Symbol
    from schedgap.models.paper import load_paper as load_paper
    from schedgap.models.program import Program as Program
    from schedgap.models.search_state import SearchState as SearchState
    from schedgap.solvers.children.clock import Clock as Clock
    from schedgap.solvers.engines.solve import solve as solve_program

_PUBLIC = {  # name -> "module:attribute", imported on first use
    "Absent": "schedgap.instances.records:Absent",
    "Algorithm": "schedgap.models.method:Algorithm",
    "AlgorithmRun": "schedgap.models.method:AlgorithmRun",
    "Bar": "schedgap.models.family:Bar",
    "Certificate": "schedgap.models.certificates:Certificate",
    "Chart": "schedgap.models.family:Chart",
    "Claim": "schedgap.models.figure:Claim",
    "Clock": "schedgap.solvers.children.clock:Clock",
    "Count": "schedgap.instances.records:Count",
    "Draw": "schedgap.models.figure:Draw",
    "Equation": "schedgap.models.paper:Equation",
    "Erratum": "schedgap.models.paper:Erratum",
    "Experiment": "schedgap.models.figure:Experiment",
    "Family": "schedgap.models.family:Family",
    "Generated": "schedgap.instances.generate:Generated",
    "Generator": "schedgap.instances.generate:Generator",
    "Guarantee": "schedgap.models.paper:Guarantee",
    "Id": "schedgap.instances.records:Id",
    "InputError": "schedgap.errors:InputError",
    "Instance": "schedgap.instances.instance:Instance",
    "Keyed": "schedgap.instances.records:Keyed",
    "Lazy": "schedgap.models.method:Lazy",
    "Link": "schedgap.models.family:Link",
    "Many": "schedgap.instances.records:Many",
    "Method": "schedgap.models.method:Method",
    "MethodResult": "schedgap.models.method:MethodResult",
    "NonEmpty": "schedgap.instances.records:NonEmpty",
    "NonNegative": "schedgap.instances.records:NonNegative",
    "Option": "schedgap.instances.settings:Option",
    "Paper": "schedgap.models.paper:Paper",
    "Positive": "schedgap.instances.records:Positive",
    "Preset": "schedgap.instances.generate:Preset",
    "PrintedAlgorithm": "schedgap.models.paper:Algorithm",
    "Program": "schedgap.models.program:Program",
    "Record": "schedgap.instances.records:Record",
    "Request": "schedgap.instances.generate:Request",
    "RunContext": "schedgap.models.method:RunContext",
    "Schedule": "schedgap.instances.records:Schedule",
    "SearchState": "schedgap.models.search_state:SearchState",
    "Space": "schedgap.instances.mutations:Space",
    "Symbol": "schedgap.models.paper:Symbol",
    "UsageError": "schedgap.errors:UsageError",
    "Violation": "schedgap.instances.verdict:Violation",
    "bars": "schedgap.models.figure:bars",
    "best": "schedgap.models.figure:best",
    "curves": "schedgap.models.figure:curves",
    "generate": "schedgap.instances.generate:generate",
    "load_paper": "schedgap.models.paper:load_paper",
    "lower_by": "schedgap.models.figure:lower_by",
    "monotone": "schedgap.models.figure:monotone",
    "problem": "schedgap.instances.records:problem",
    "proved": "schedgap.models.certificates:proved",
    "read_certificate": "schedgap.models.certificates:read",
    "require_unique": "schedgap.instances.records:require_unique",
    "solve_program": "schedgap.solvers.engines.solve:solve",
    "validate": "schedgap.instances.records:validate",
    "with_defaults": "schedgap.instances.generate:with_defaults",
}

__all__ = [
    "Absent",
    "Algorithm",
    "AlgorithmRun",
    "Bar",
    "Certificate",
    "Chart",
    "Claim",
    "Clock",
    "Count",
    "Draw",
    "Equation",
    "Erratum",
    "Experiment",
    "Family",
    "Generated",
    "Generator",
    "Guarantee",
    "Id",
    "InputError",
    "Instance",
    "Keyed",
    "Lazy",
    "Link",
    "Many",
    "Method",
    "MethodResult",
    "NonEmpty",
    "NonNegative",
    "Option",
    "Paper",
    "Positive",
    "Preset",
    "PrintedAlgorithm",
    "Program",
    "Record",
    "Request",
    "RunContext",
    "Schedule",
    "SearchState",
    "Space",
    "Symbol",
    "UsageError",
    "Violation",
    "bars",
    "best",
    "curves",
    "generate",
    "load_paper",
    "lower_by",
    "monotone",
    "problem",
    "proved",
    "read_certificate",
    "require_unique",
    "solve_program",
    "validate",
    "with_defaults",
]

__getattr__, __dir__ = lazy.attributes(__name__, _PUBLIC)
