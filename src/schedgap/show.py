"""Output of the command line: a JSON document, or tables and lines for people."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console

    from schedgap.analysis.comparing.differences import Differences
    from schedgap.analysis.comparing.judged import JudgedSchedule
    from schedgap.analysis.comparing.run import Run
    from schedgap.analysis.evaluations.judging import Judgement
    from schedgap.analysis.records.folder import TaskRecord
    from schedgap.analysis.results.solution import Solution
    from schedgap.instances.verdict import Verdict

RETRIES = {"timeout", "memory", "crash", "invalid", "error", "all"}  # kinds of `compare --retry`
PIPE_WIDTH = 160  # characters per line if the output is not a terminal


def out() -> "Console":
    """Return the console of standard output; lines are wide if that is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


def json_document(value: object) -> None:
    """Print one JSON document.

    Parameters
    ----------
    value : JSON data
        The document.
    """
    sys.stdout.write(json.dumps(value, indent=1, allow_nan=False) + "\n")


def one_line(text: str) -> str:
    """Return text on one line, with control characters escaped.

    Parameters
    ----------
    text : str
        Text of any number of lines.
    """
    return _visible(" ".join(text.split()))


def lines(text: str) -> None:
    """Print lines, with control characters escaped.

    Parameters
    ----------
    text : str
        One or more lines.
    """
    sys.stdout.write("".join(f"{_visible(line)}\n" for line in text.split("\n")))


def _visible(line: str) -> str:
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)


def note(text: str) -> None:
    """Print one line on standard error.

    Parameters
    ----------
    text : str
        The message; line breaks become spaces.
    """
    print(f"schedgap: {one_line(text)}", file=sys.stderr)  # noqa: T201 - stderr, not a log


def number(value: float | None, digits: int = 6) -> str:
    """Return a number as text, or a dash for None.

    Parameters
    ----------
    value : float or None
        The number.
    digits : int
        Significant digits.
    """
    return "-" if value is None else f"{value:.{digits}g}"


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, spare: Sequence[str] = ()
) -> list[str]:
    """Print a table and return the columns left out; those of numbers are aligned to the right.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        Cells, one for each column.
    spare : sequence of str
        Columns to omit, in this order, while the table is wider than the terminal.
    """
    shown = list(columns)
    widths = {
        column: max([len(column), *(len(row[index]) for row in rows)]) + 2
        for index, column in enumerate(columns)
    }
    for column in spare:
        if sum(widths[each] for each in shown) > out().width and column in shown:
            shown.remove(column)
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=None, pad_edge=False)
    places = [list(columns).index(column) for column in shown]
    for index in places:
        numeric = all(row[index][:1] in "0123456789-[<>" for row in rows if row[index])
        justify: Literal["left", "right"] = "right" if numeric and rows else "left"
        grid.add_column(columns[index], justify=justify, header_style="bold")
    for row in rows:
        grid.add_row(*(escape(row[index]) for index in places))
    out().print(grid)
    return [column for column in columns if column not in shown]


def methods(rows: Sequence[Mapping[str, Any]], *, options: bool) -> None:
    """Print a table of methods.

    Parameters
    ----------
    rows : sequence of dict
        As returned by `schedgap.analysis.pages.listing.methods`.
    options : bool
        Whether to print a second table with the options of each method.
    """
    cells = [
        (
            row["family"],
            row["method"],
            row["kind"],
            ", ".join(row["engines"]) or "-",
            f"= {row['alias_of']}" if row["alias_of"] else row["summary"],
            "ours" if row["ours"] else row["source"],
        )
        for row in rows
    ]
    table(("family", "method", "kind", "engines", "what it does", "source"), cells)
    if options:
        _settings("method", [row for row in rows if not row["alias_of"]])


def presets(rows: Sequence[Mapping[str, Any]], *, options: bool) -> None:
    """Print a table of presets.

    Parameters
    ----------
    rows : sequence of dict
        As returned by `schedgap.analysis.pages.listing.presets`.
    options : bool
        Whether to print a second table with the settings of each preset.
    """
    cells = [
        (row["family"], row["preset"], row["summary"], ", ".join(row["files"]) or "-")
        for row in rows
    ]
    table(("family", "preset", "what it makes", "from files"), cells)
    if options:
        _settings("preset", rows)


def models(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of programs.

    Parameters
    ----------
    rows : sequence of dict
        As returned by `schedgap.analysis.pages.listing.models`.
    """
    sizes = ("rows", "columns", "integers", "nonzeros")
    measured = sizes if rows and "rows" in rows[0] else ()
    cells = [
        (
            row["family"],
            ", ".join([row["model"], *row["also"]]),
            row["kind"],
            row["equations"] or "ours",
            *("-" if row[size] is None else str(row[size]) for size in measured),
            row.get("note") or row["summary"],
        )
        for row in rows
    ]
    columns = ("family", "model, also", "kind", "equations", *measured, "what it is")
    table(columns, cells)


def _settings(owner: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of the options of methods or presets; `owner` is "method" or "preset"."""
    cells = [
        (
            row[owner],
            option["name"],
            _default(option),
            ", ".join(
                [*option["choices"], *([option["type"]] if option["type"] != "choice" else [])]
            ),
            option["help"],
        )
        for row in rows
        for option in row["options"]
    ]
    if cells:
        out().print()
        table((owner, "--set", "default", "values", "meaning"), cells)


def _default(option: dict[str, Any]) -> str:
    value = option["default"]
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def solution(result: "Solution") -> None:
    """Print a solution: instance, method, status, objective, bound, ratio, seconds.

    Parameters
    ----------
    result : Solution
        The solution.
    """
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


def facts(items: Mapping[str, str]) -> None:
    """Print texts by name, one line each.

    Parameters
    ----------
    items : mapping
        The texts.
    """
    from rich.markup import escape

    width = max(map(len, items))
    for key, value in items.items():
        out().print(f"[bold]{escape(key):<{width}}[/]  {escape(value)}", soft_wrap=True)


def grid(frame: "DataFrame", *, as_json: bool) -> None:
    """Print a square table of ratios, a row for each method.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `worst_grid`.
    as_json : bool
        Print a JSON document instead: row -> column -> ratio, null where there is none.
    """
    rows = {
        str(name): {str(key): None if math.isnan(value) else value for key, value in row.items()}
        for name, row in frame.to_dict("index").items()
    }
    if as_json:
        json_document(rows)
        return
    table(
        ["worst ratio of", *(f"to {name}" for name in frame.columns)],
        [[name, *(number(value, 4) for value in row.values())] for name, row in rows.items()],
    )


def _ratio(result: "Solution") -> str:
    """Return the ratio to the optimum that follows from the solution's own bound, as text."""
    if result.objective is None or result.bound is None:
        return "-"
    from schedgap.analysis.records.ratios import ratio_interval

    ratio = ratio_interval(result.objective, result.objective, result.bound, result.sense)
    if result.status != "optimal":
        return f"at most {ratio.high:.4f}"
    match result.proof and result.proof.kind:
        case "tree":
            return "1 (proved: tree)"
        case "certificate":
            assert result.certificate is not None
            return f"1 (proved: certificate {result.certificate.get('kind')})"
        case "engine" | "engines":
            return "1 (the engine's word: no proof)"
    return "1 (the method's word: no proof)"


def verdict(result: "Verdict", *, as_json: bool) -> None:
    """Print a verdict: feasibility or each violation on one line, then the checked claims.

    Parameters
    ----------
    result : Verdict
        The verdict.
    as_json : bool
        Whether to print JSON instead of text.
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

    Parameters
    ----------
    result : JudgedSchedule
        The judgement.
    as_json : bool
        Whether to print JSON instead of text.
    """
    if as_json:
        json_document(result.to_data())
    else:
        lines(str(result.verdict))
        if result.ratio is not None and result.references:
            best = ", ".join(
                f"{each.name} {number(value, 10)} ({what})"
                for each in result.references
                for what, value in (("schedule", each.objective), ("bound", each.bound))
                if value is not None
            )
            lines(f"ratio to the optimum {result.ratio}: {best}")
        elif result.feasible:
            lines("ratio to the optimum unknown: --run DIR or --against METHOD give a reference")


@contextmanager
def solving(title: str) -> Iterator[Any]:
    """Show phase, incumbent and bound on standard error while a method runs.

    Yields the callback for `solve`, or None if standard error is not a terminal.

    Parameters
    ----------
    title : str
        Method and instance, shown at the start of the line.
    """
    if not sys.stderr.isatty():
        yield None
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


def capped(workers: int | None) -> None:
    """Say that there are not as many workers as were asked for, if so.

    Parameters
    ----------
    workers : int or None
        Number of parallel tasks that were asked for.
    """
    from schedgap.solvers.children.processes import cores

    if workers is not None and workers > cores():
        note(f"workers {workers}: {cores()} run, one for each core that this process may use")


@contextmanager
def comparing() -> Iterator[Any]:
    """Show a progress bar, proved optima, widest gap and remaining time during a comparison.

    If standard error is not a terminal, there is a line for each finished task instead. Yields the
    callback for `compare`.
    """
    if not sys.stderr.isatty():
        yield _line
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks, {task.description}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    gaps: dict[tuple[str, str], float] = {}
    with Progress(*columns, console=Console(stderr=True)) as bar:
        line = bar.add_task("starting", total=None)

        def receive(record: "TaskRecord | None", done: int, total: int) -> None:
            found = None if record is None else record.solution
            if record is not None and found is not None and found.bound and found.objective:
                gap = abs(found.objective - found.bound) / abs(found.bound)
                key = record.instance.sha256, record.problem
                gaps[key] = min(gap, gaps.get(key, gap))
            text = "running"
            if gaps:
                proved = sum(gap <= 1e-6 for gap in gaps.values())
                text = f"{proved} of {len(gaps)} proved, widest gap {max(gaps.values()):.2%}"
            bar.update(line, completed=done, total=total, description=text)

        yield receive


def _line(record: "TaskRecord | None", done: int, total: int) -> None:
    """Print a line on a finished task on standard error."""
    if record is None:
        note(f"{done} of {total} tasks are done")
        return
    solution = record.solution
    facts: list[str] = [record.outcome]
    if record.outcome == "done" and solution is not None:
        facts = [solution.status]
    if solution is not None:
        facts += [number(solution.objective), f"{solution.seconds:.3g} s"]
    note(f"{done}/{total} {record.instance.name}: {record.label}: {', '.join(facts)}")


def plain_text(text: str) -> None:
    """Print a document as it is.

    Parameters
    ----------
    text : str
        The document.
    """
    sys.stdout.write(text)


def verified(result: "Run", wrong: Sequence[str], *, as_json: bool) -> None:
    """Print what the verification of a run found.

    Parameters
    ----------
    result : Run
        The run.
    wrong : sequence of str
        Descriptions of the violations, as `Run.verify` returns them.
    as_json : bool
        Whether to print JSON instead of text.
    """
    if as_json:
        json_document({"feasible": not wrong, "tasks": len(result), "violations": list(wrong)})
        return
    for text in wrong:
        lines(one_line(text))
    lines(f"{len(result)} tasks: " + (f"{len(wrong)} wrong" if wrong else "nothing is wrong"))


def differences(found: "Differences", *, as_json: bool) -> None:
    """Print the differences between two runs.

    Parameters
    ----------
    found : Differences
        As `schedgap.analysis.comparing.differences.differences` returns them.
    as_json : bool
        Whether to print JSON instead of text.
    """
    rows = found.rows.astype(object).where(found.rows.notna(), None)
    if as_json:
        json_document(
            {
                "common": found.common,
                "only": list(found.only),
                "time": found.time,
                "timed": found.timed,
                "differences": rows.to_dict("records"),
            }
        )
        return
    if len(rows):
        cells = [
            [
                number(cell) if isinstance(cell, float) else str("-" if cell is None else cell)
                for cell in row
            ]
            for row in rows.to_numpy()
        ]
        table(list(rows.columns), cells, spare=("family", "seed"))
    lines(
        f"{found.common} tasks in both runs, {len(rows)} differences; "
        f"{found.only[0]} only in the first, {found.only[1]} only in the second"
    )
    if found.time is not None:
        lines(
            f"times: the second takes {found.time:.3g} times as long as the first "
            f"(geometric mean of {found.timed} tasks of at least 0.1 s)"
        )


def judgements(items: "Sequence[Judgement]", *, as_json: bool) -> None:
    """Print the verdicts on the papers' claims, with what was measured.

    Parameters
    ----------
    items : sequence of Judgement
        In the order of the figures.
    as_json : bool
        Whether to print JSON instead of text.
    """
    if as_json:
        json_document(
            [
                {
                    "family": item.experiment.family,
                    "figure": item.experiment.figure,
                    "quick": item.experiment.quick,
                    "setting": dict(item.experiment.setting),
                    "claim": item.claim.text,
                    "source": item.claim.source,
                    "verdict": item.verdict,
                    "held": item.held,
                    "draws": item.draws,
                    "of": item.of,
                    "unit": item.claim.unit,
                    "measured": list(item.numbers),
                }
                for item in items
            ]
        )
        return
    for item in items:
        setting = ", ".join(f"{key} = {value}" for key, value in item.experiment.setting.items())
        at = f" at {setting}" if setting else ""
        name = f"{item.experiment.family}, Fig. {item.experiment.figure}{at}"
        for line in (f"{name}: {item.claim.text}", f"    {item.verdict.upper()}: {item.measured}"):
            out().print(line, markup=False, soft_wrap=True)


def run(result: "Run", *, as_json: bool, every: bool = False, stored: bool = True) -> None:
    """Print a run: summary table, headline, failures, and contradictions in red.

    The table has a row for each preset and method. As text and with several families, it has a row
    for each algorithm of the papers, or with `every` for each method.

    Parameters
    ----------
    result : Run
        The run.
    as_json : bool
        Whether to print JSON instead of text.
    every : bool
        Whether to print all methods of several families.
    stored : bool
        Whether the run folder exists after the command.
    """
    several = len({record.instance.family for record in result.records}) > 1
    summary = result.summary(by_preset=as_json or not several)
    if as_json:
        rows = json.loads(summary.to_json(orient="records", double_precision=15))
        folders = [str(folder.path) for folder in result.folders]
        document = {"run": folders, "summary": rows, "contradictions": result.contradictions}
        document |= {"warnings": result.warnings, "drift": result.drift()}
        json_document(document | {"failed": len(result.failures), "skipped": len(result.skipped)})
    else:
        from schedgap.analysis.statistics.tables import by_family, readable
        from schedgap.instances.verdict import outside

        brief = several and not every
        shown = by_family(summary) if brief else readable(summary) if len(summary) else summary
        cells = [[str(cell) for cell in row] for row in shown.to_numpy()]
        spare = (
            "kind", "bounded", "instances", "skipped", "optimum / bound", "worst heuristic",
            "best heuristic", "worst ratio", "guarantee",
        )  # fmt: skip
        hidden = table(list(shown.columns), cells, spare=spare)
        places = " ".join(str(folder.path) for folder in result.folders)
        if hidden:
            where = f" (schedgap table {places})" if stored else ""
            note(f"not shown at this width: {', '.join(hidden)}{where}")
        if brief and stored:
            lines(f"all methods: schedgap show {places} --all")
        _loads(result)
        for rules in sorted(set(summary["outside"]) - {""}) if len(summary) else ():
            out().print(f"{outside([rules])}: no ratio", markup=False, soft_wrap=True)
        after = f"schedgap report {places}" if stored else "not stored: --run DIR keeps the results"
        for text in ("", *result.headline(), "", repr(result), after):
            out().print(text, markup=False, soft_wrap=True)
        for record in result.failures:
            note(f"{record.instance.name}: {record.label}: {record.outcome}: {record.message}")
        for record in result.incomplete:
            reason = record.note or "stopped at its limit"
            note(f"{record.instance.name}: {record.label}: no schedule: {reason}")
    warnings(result)


def warnings(result: "Run") -> None:
    """Print on standard error what a reader of a run's tables should know, contradictions in red.

    Parameters
    ----------
    result : Run
        The run.
    """
    for text in result.warnings:
        note(text)
    if result.contradictions:
        from rich.console import Console
        from rich.markup import escape
    for text in result.contradictions:
        line = one_line(f"contradiction: {text}")
        Console(stderr=True, highlight=False).print(
            f"[red]schedgap: {escape(line)}[/]", soft_wrap=True
        )


def _loads(result: "Run") -> None:
    """Print the ratios by trace and load, if the instances have loads."""
    from schedgap.analysis.statistics.loads import by_load, matrix

    frame = by_load(result)
    if not len(frame):
        return
    shown = matrix(frame)
    lines("")
    table(list(shown.columns), [[str(cell) for cell in row] for row in shown.to_numpy()])
    lines("mean ratios by offered load; * where the optimum of every instance is known")
