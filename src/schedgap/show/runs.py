"""Progress of a comparison, and what a run shows."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedgap.analysis.comparing.differences import Differences
    from schedgap.analysis.comparing.run import Run
    from schedgap.analysis.evaluations.judging import Judgement
    from schedgap.analysis.records.folder import TaskRecord
    from schedgap.analysis.records.rows import TaskRow

from schedgap.show.console import (
    json_document,
    lines,
    note,
    number,
    one_line,
    out,
    sentence,
    table,
)

FEW_TASKS = 20  # a pipe receives a line for each of so few
LINES = 10  # most lines of progress on a pipe

RETRIES = {"timeout", "memory", "crash", "invalid", "error", "all"}  # kinds of `compare --retry`


def warn_if_capped(workers: int | None) -> None:
    """Say that there are not as many workers as were asked for, if so.

    `workers`: number of parallel tasks that were asked for.
    """
    from schedgap.solvers.children.processes import cores

    if workers is not None and workers > cores():
        note(f"workers {workers}: {cores()} run, one for each core that this process may use")


@contextmanager
def comparing() -> Iterator[Any]:
    """Show a progress bar, proved optima, widest gap and remaining time during a comparison.

    If standard error is not a terminal, a line for each finished task replaces the bar. With many
    tasks, there is a line for each failed task and for every tenth part. Yields the callback for
    `compare`.
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
    if total > FEW_TASKS and done * LINES // total > (done - 1) * LINES // total:
        note(f"{done} of {total} tasks are done")
    if total > FEW_TASKS and record.outcome in ("done", "timeout", "skipped"):
        return
    facts: list[str] = [] if record.outcome == "done" and solution is not None else [record.outcome]
    if solution is not None:
        facts += [solution.status, number(solution.objective), f"{solution.seconds:.3g} s"]
    note(f"{done}/{total} {record.instance.name}: {record.label}: {', '.join(facts)}")


def verified(result: "Run", wrong: Sequence[str], *, as_json: bool) -> None:
    """Print what the verification of a run found.

    `wrong`: descriptions of the violations, as `Run.verify` returns them. `as_json`: whether to
    print JSON instead of text.
    """
    if as_json:
        json_document({"feasible": not wrong, "tasks": len(result), "violations": list(wrong)})
        return
    for text in wrong:
        lines(one_line(text))
    lines(f"{len(result)} tasks: " + (f"{len(wrong)} wrong" if wrong else "no violations found"))


def differences(found: "Differences", *, as_json: bool) -> None:
    """Print the differences between two runs.

    `found`: as `schedgap.analysis.comparing.differences.differences` returns them. `as_json`:
    whether to print JSON instead of text.
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


def plan(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print what measuring figures would take.

    `rows`: as `schedgap.analysis.pages.reproduction.plan` returns them. `as_json`: whether to print
    JSON.
    """
    if as_json:
        json_document([*rows])
        return
    table(
        ("family", "figures", "tasks", "done", "hours for these", "hours left, at most"),
        [
            (
                row["family"],
                *(str(row[key]) for key in ("figures", "tasks", "done")),
                *(number(row[key], 3) for key in ("hours_done", "hours_left")),
            )
            for row in rows
        ],
    )
    note("hours of one worker; at most: if every task that is left uses up its time limit")


def judgements(items: "Sequence[Judgement]", *, as_json: bool) -> None:
    """Print the verdicts on the papers' claims, with what was measured.

    `items`: in the order of the figures. `as_json`: whether to print JSON instead of text.
    """
    from schedgap.analysis.evaluations.judging import EACH_PART

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
                    "sentence": item.claim.sentence or item.claim.text,
                    "held": None if item.claim.holds is None else item.held,
                    "draws": item.n_measured,
                    "of": item.n_replications,
                    "unit": item.claim.unit,
                    "measured": list(item.numbers),
                }
                for item in items
            ]
        )
        return
    for item in items:
        setting = ", ".join(f"{key} = {value}" for key, value in item.experiment.setting.items())
        at = f" at {setting}" if setting else " at the defaults"
        name = f"{item.experiment.family}, Fig. {item.experiment.figure}{at}"
        for line in (f"{name}: {item.claim.text}", f"    {item.verdict.upper()}: {item.measured}"):
            out().print(line, markup=False, soft_wrap=True)
    if items:
        note(EACH_PART)


def run(result: "Run", *, as_json: bool, every: bool = False, stored: bool = True) -> None:
    """Print a run: summary table, headline, failures, and contradictions in red.

    The table has a row for each preset and method. As text and with several families, the findings
    come first. The table then has a row for each algorithm of the papers, or with `every` for each
    method.

    `as_json`: whether to print JSON instead of text. `every`: whether to print all methods of
    several families. `stored`: whether the run folder exists after the command.
    """
    timed = False
    several = len({row.family for row in result.rows}) > 1
    summary = result.summary(by_preset=as_json or not several)
    if as_json:
        rows = json.loads(summary.to_json(orient="records", double_precision=15))
        folders = [str(folder.path) for folder in result.folders]
        document = {"run": folders, "summary": rows, "contradictions": result.contradictions}
        document |= {"warnings": result.warnings, "drift": result.drift()}
        counts = {
            "failed": sum(row.failed for row in result.rows),
            "skipped": sum(row.outcome == "skipped" for row in result.rows),
        }
        json_document(document | counts)
    elif not len(result):
        places = " ".join(str(folder.path) for folder in result.folders)
        lines(f"{places}: nothing has been run yet")
    else:
        from schedgap.analysis.report.headline import news
        from schedgap.analysis.report.results import collect
        from schedgap.analysis.statistics.readable import by_family, readable

        brief = several and not every
        head, *sentences = result.headline()
        if several:
            for text in (head, *news(collect(result)), ""):
                sentence(text)
        else:
            sentences.insert(0, head)
        if brief:
            shown = by_family(summary, result.summary(by_preset=False, common=False))
            if sentences and " families: " in sentences[0]:  # the headline is on algorithms
                own = [text for text in sentences if "Your own " in text]
                sentences = [sentences[0], *own]  # the table has the rest
        else:
            shown = readable(summary) if len(summary) else summary
        cells = [[str(cell) for cell in row] for row in shown.to_numpy()]
        spare = (
            "kind", "bounded", "instances", "skipped", "optimum / bound", "worst heuristic",
            "best heuristic", "worst ratio", "guarantee",
        )  # fmt: skip
        hidden = table(list(shown.columns), cells, spare=spare)
        timed = "seconds" in shown.columns and "seconds" not in hidden
        places = " ".join(str(folder.path) for folder in result.folders)
        if hidden:
            where = f" (schedgap table {places})" if stored else ""
            note(f"not shown at this width: {', '.join(hidden)}{where}")
        if brief:
            lines("ratios over the n instances on which the algorithm has one;")
            lines("heuristics: mean ratios over the instances that all methods have in common")
        if brief and stored:
            lines(f"all methods: schedgap show {places} --all")
        _loads(result)
        if used := result.records_used:
            where = f"on {used} instance{'s' if used > 1 else ''}"
            lines(f"{where}, ratios are to a better schedule or bound of the record book")
        if len(summary) and not brief:
            apart = dict(zip(summary["method"], summary["outside"], strict=True))
            for method, rules in apart.items():
                if rules:
                    sentence(f"{method} leaves out rules ({rules}), so it has no ratio")
        after = f"schedgap report {places}" if stored else "not stored: --run DIR keeps the results"
        for text in ("", *sentences, "", repr(result), after):
            sentence(text)
        for row in result.rows:
            if row.failed:
                note(f"{row.instance}: {row.label}: {row.outcome}: {row.message}")
        for row in result.rows:
            if row.incomplete:
                missing = "bound" if row.kind == "bound" else "schedule"
                note(f"{row.instance}: {row.label}: no {missing}: {_reason(row)}")
    warnings(result, times=timed)


def _reason(row: "TaskRow") -> str:
    """Return why a task has ended without a schedule or a bound."""
    if row.note:
        return row.note
    return ended(row.limited if row.outcome == "done" else None)


def ended(limited: bool | None) -> str:
    """Return in words why a method has ended without a result.

    `limited`: whether a limit may have had an influence; None if that is not known.
    """
    return "ended before any limit" if limited is False else "stopped at its limit"


def warnings(*results: "Run", times: bool) -> None:
    """Print on standard error what a reader of tables should know, contradictions in red.

    A line that several runs have in common is printed once.

    `times`: whether the tables have times. If so, a change of the computer's speed matters.
    """
    texts = [text for result in results for text in result.warnings
             if times or text not in result.time_warnings]  # fmt: skip
    for text in dict.fromkeys(texts):
        note(text)
    contradictions = [text for result in results for text in result.contradictions]
    if contradictions:
        from rich.console import Console
        from rich.markup import escape
    for text in dict.fromkeys(contradictions):
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
