"""Instances and solutions as strict records, generators, and readers of public traces."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.instances, not instances")

from schedgap.instances.families import FAMILIES, instance_class, load
from schedgap.instances.instance import Instance
from schedgap.instances.solution import SolutionFile
from schedgap.instances.verdict import TOLERANCE, Verdict, Violation

__all__ = [
    "FAMILIES",
    "TOLERANCE",
    "Instance",
    "SolutionFile",
    "Verdict",
    "Violation",
    "instance_class",
    "load",
]
