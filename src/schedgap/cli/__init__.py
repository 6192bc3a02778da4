"""Command line: parse arguments, call the package, print, and map errors to exit codes."""

# ruff: noqa: I001 - the order of the commands in the help
from schedgap.cli.parser import app
from schedgap.cli.listings import engines, methods, models, presets
from schedgap.cli.instances import generate, schema
from schedgap.cli.new_family import new_family
from schedgap.cli.solutions import export, judge, solve, verify
from schedgap.cli.runs import compare, diff, figure, report, show_run, table
from schedgap.cli.benchmarks import bench
from schedgap.cli.studies import worst_case
from schedgap.cli.book import records
from schedgap.cli.entry import main, run

__all__ = [
    "app",
    "bench",
    "compare",
    "diff",
    "engines",
    "export",
    "figure",
    "generate",
    "judge",
    "main",
    "methods",
    "models",
    "new_family",
    "presets",
    "records",
    "report",
    "run",
    "schema",
    "show_run",
    "solve",
    "table",
    "verify",
    "worst_case",
]
