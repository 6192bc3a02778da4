"""Output of the command line: a JSON document, or tables and lines for people."""

from schedgap.show.benchmarks import benchmark, wrong_answers
from schedgap.show.book import book_update, book_verified, records
from schedgap.show.console import (
    PIPE_WIDTH,
    facts,
    grid,
    json_document,
    lines,
    note,
    number,
    one_line,
    out,
    plain_text,
    table,
)
from schedgap.show.listings import engines, methods, models, presets
from schedgap.show.runs import (
    RETRIES,
    comparing,
    differences,
    ended,
    judgements,
    plan,
    run,
    verified,
    warn_if_capped,
    warnings,
)
from schedgap.show.solutions import judged_schedule, solution, solving, verdict

__all__ = [
    "PIPE_WIDTH",
    "RETRIES",
    "benchmark",
    "book_update",
    "book_verified",
    "comparing",
    "differences",
    "ended",
    "engines",
    "facts",
    "grid",
    "json_document",
    "judged_schedule",
    "judgements",
    "lines",
    "methods",
    "models",
    "note",
    "number",
    "one_line",
    "out",
    "plain_text",
    "plan",
    "presets",
    "records",
    "run",
    "solution",
    "solving",
    "table",
    "verdict",
    "verified",
    "warn_if_capped",
    "warnings",
    "wrong_answers",
]
