"""A solution, a verdict, a judged schedule."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedgap.analysis.comparing.judged import JudgedSchedule
    from schedgap.analysis.results.solution import Solution
    from schedgap.instances.verdict import Verdict

from schedgap.show.console import json_document, lines, note, number, out


def solution(result: "Solution") -> None:
    """Print a solution: instance, method, status, objective, bound, ratio, seconds."""
    from rich.markup import escape

    rows = [
        ("instance", result.instance),
        ("method", result.method + (f" ({result.engine})" if result.engine else "")),
        ("status", result.status + (f" ({result.outside})" if result.outside else "")),
        ("objective", number(result.objective, 10)),
        *((name, number(value, 10)) for name, value in result.metrics.items()),
        ("bound", number(result.bound, 10)),
        ("ratio", _ratio(result)),
        ("seconds", number(result.seconds, 3)),
    ]
    width = max(len(key) for key, _ in rows)
    for key, value in rows:
        out().print(f"[bold]{key:<{width}}[/]  {escape(value)}", soft_wrap=True)


def _ratio(result: "Solution") -> str:
    """Return the ratio to the optimum that follows from the solution's own bound, as text."""
    if result.objective is None or result.bound is None:
        return "-"
    from schedgap.analysis.intervals import rounded
    from schedgap.analysis.records.ratios import ratio_interval
    from schedgap.analysis.results.bounds import Scale

    scale = Scale.of(result.of_instance)
    ratio = ratio_interval(result.objective, result.objective, result.bound, scale)
    if result.status != "optimal":
        return f"at most {rounded(ratio.high, ROUND_CEILING)}"
    match result.proof and result.proof.kind:
        case "tree":
            return "1 (proved by a tree)"
        case "certificate":
            assert result.certificate is not None
            return f"1 (certified: {result.certificate.get('kind')})"
        case "engine":
            return "1 (reported by the engine, not proved)"
        case "engines":
            return "1 (reported by two engines, not proved)"
    return "1 (reported by the method, not proved)"


def verdict(result: "Verdict", *, as_json: bool) -> None:
    """Print a verdict: feasibility or each violation on one line, then the checked claims.

    `as_json`: whether to print JSON instead of text.
    """
    if not as_json:
        lines(str(result))
        return
    data: dict[str, Any] = {
        "feasible": result.feasible,
        "objective": result.objective,
        "violations": [
            {"rule": item.rule, "message": item.message, "amount": item.amount}
            for item in result.violations
        ],
        "bound_status": result.bound_status,
        "optimality_status": result.optimality_status,
    }
    json_document(data | ({"relaxed": list(result.relaxed)} if result.relaxed else {}))


def judged_schedule(result: "JudgedSchedule", *, as_json: bool) -> None:
    """Print a judgement: the violations, or the objective and the ratio with its references.

    `as_json`: whether to print JSON instead of text.
    """
    if as_json:
        json_document(result.to_data())
    else:
        lines(str(result.verdict))
        if result.ratio is not None and result.references:
            best = ", ".join(
                f"{known.name} {number(value, 10)} ({what})"
                for known in result.references
                for what, value in (("schedule", known.objective), ("bound", known.bound))
                if value is not None
            )
            lines(f"ratio to the optimum {result.ratio}: {best}")
            _beaten(result)
        elif result.ratio is not None and math.isfinite(result.ratio.high):
            lines(f"ratio to the optimum {result.ratio}, from the bound in the file")
        elif result.feasible:
            lines("ratio to the optimum unknown: --run DIR or --against METHOD give a reference")


def _beaten(result: "JudgedSchedule") -> None:
    """Print by how much a schedule improves the record of its instance, if it does."""
    from schedgap.analysis.records.booked import NAME

    value = result.objective
    for known in result.references:
        old, scale = known.objective, known.scale
        if not known.name.startswith(f"{NAME} ") or value is None or old is None or scale is None:
            continue
        better = value < old if scale.sense == "min" else value > old
        if better and not scale.same(value, old):
            by = f" by {abs(value - old) / abs(old):.2%}" if old else ""
            lines(f"improves the {known.name} ({number(old, 10)}){by}")
            lines("to enter it: judge ... --run DIR --as NAME, then schedgap records update DIR")


@contextmanager
def solving(title: str) -> Iterator[Any]:
    """Show phase, incumbent and bound on standard error while a method runs.

    Yields the callback for `solve`. If standard error is not a terminal, only what happens before
    the clock starts is shown, because the time limit does not include it.

    `title`: method and instance, shown at the start of the line.
    """
    if not sys.stderr.isatty():

        def before(message: tuple[Any, ...]) -> None:
            kind, seconds, value = message[:3]
            if kind == "phase" and not seconds:
                note(f"{title}: {value}")

        yield before
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    latest: dict[str, str] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as line:
        shown = line.add_task(escape(title), total=None)

        def receive(message: tuple[Any, ...]) -> None:
            kind, _, value = message[:3]
            latest[kind] = value if kind == "phase" else f"{kind} {value:.6g}"
            facts = [latest[key] for key in ("phase", "incumbent", "bound") if key in latest]
            line.update(shown, description=escape(f"{title}: {', '.join(facts)}"))

        yield receive
