"""Figures of the papers: the tasks to run and the resulting numbers; `drawing` draws the charts.

Each figure has two series more than the paper's: the best known schedule and a proved bound.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from schedgap.analysis.evaluations.judging import Row
from schedgap.analysis.plots.csv_text import comma_separated
from schedgap.analysis.records.folder import Folder, read_record
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.solving.choices import Choice
from schedgap.errors import InputError, UsageError, choices
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.instances.records import write_text
from schedgap.models.family import family
from schedgap.models.figure import BRACKETS, Experiment

BEST, BOUND = BRACKETS
FOLDER = "figures"  # subfolder of the run folder


def file_name(experiment: Experiment) -> str:
    """Return the name of a figure's CSV file; without its suffix it is the name of the suite."""
    words = ["quick"] if experiment.quick else []
    words += [f"{key}={value}" for key, value in experiment.setting.items()]
    at = "@" + ",".join(words) if words else ""
    return f"{experiment.family}-figure-{experiment.figure}{at}.csv"


def suite(text: str, *, quick: bool = False) -> dict[str, Experiment]:
    """Return the figures of a suite by file name; empty if the text does not name a suite.

    `text`: `FAMILY-figures`, or `FAMILY-figure-N` for one figure at all its settings. `quick`:
    whether to return the figures scaled down, with at least ten draws.

    Raises
    ------
    UsageError
        If the family has no such figure.
    """
    name, _, rest = text.partition("-figure")
    if name not in FAMILIES or (rest != "s" and not rest.startswith("-")):
        return {}
    figures = _figures(name, quick)
    chosen = {
        file: figure
        for file, figure in figures.items()
        if rest == "s" or text in (file.removesuffix(".csv"), f"{name}-figure-{figure.figure}")
    }
    if not chosen:
        names = dict.fromkeys(f"{name}-figure-{figure.figure}" for figure in figures.values())
        raise UsageError(f"family {name} has no {text}: {choices(text, names)}")
    return chosen


@cache
def _figures(name: str, quick: bool) -> dict[str, Experiment]:
    experiments = family(name).experiments
    figures = [] if experiments is None else experiments(quick=quick)
    return {
        file_name(figure): figure for figure in (replace(figure, quick=quick) for figure in figures)
    }


def pairs(experiment: Experiment) -> Iterator[tuple[Instance, list[str]]]:
    """Yield each instance of a figure with the methods to run on it."""
    methods: dict[str, list[str]] = {}
    instances: dict[str, Instance] = {}
    for point in experiment.points:
        key = point.instance.sha256
        instances[key] = point.instance
        methods.setdefault(key, list(experiment.brackets)).append(point.method)
    for key, instance in instances.items():
        yield instance, list(dict.fromkeys(methods[key]))


def rows(run: StoredRun, experiment: Experiment) -> list[Row]:
    """Return the values of a figure that are known from a run, in the order of its points.

    Points that were not measured have no value. A method that was stopped before its end was not
    measured; its schedule still counts for the best known one. Of several records of a point, one
    that came to its end counts, and of these one with the default seed and the largest limit.
    """
    tasks: dict[tuple[str, str], list[TaskRow]] = {}
    for task in run.rows:
        tasks.setdefault((task.sha256, task.label), []).append(task)
    numbers: dict[tuple[str, float | str, str, int], Row] = {}

    def add(measure: str, series: str, value: float | None) -> None:
        row = Row(measure, point.x, series, point.seed, point.instance.name, value)
        numbers.setdefault(row[:4], row)

    for point in experiment.points:
        runner = Choice.read(point.method).runner(point.instance)
        known = tasks.get((point.instance.sha256, runner.label), [])
        ended = [row for row in _by_seed(known, runner.seed) if _ended(row)]
        solution = read_record(Path(ended[-1].file)).solution if ended else None
        schedule = None if solution is None else solution.schedule
        add(experiment.objective, point.series, None if solution is None else solution.objective)
        metrics = (
            {}
            if schedule is None
            else family(point.instance.family).metrics(point.instance, schedule)
        )
        for measure in experiment.metrics:
            add(measure, point.series, metrics.get(measure))
        for name, function in experiment.measures.items():
            number = None
            if solution is not None and schedule is not None:
                number = function(point.instance, schedule, solution.trace)
            add(name, point.series, number)
        problem = runner.family.problem(runner.recorded_options())
        bracket = run.brackets.get((point.instance.sha256, problem))
        add(experiment.objective, BEST, None if bracket is None else bracket.best)
        add(experiment.objective, BOUND, None if bracket is None else bracket.bound)
    return list(numbers.values())


def _by_seed(tasks: Sequence[TaskRow], seed: int | None) -> list[TaskRow]:
    """Return tasks in their order, those with a seed last."""
    return sorted(tasks, key=lambda task: task.seed == seed)


def _ended(task: TaskRow) -> bool:
    """Return whether a method came to its end, rather than to its limit."""
    ended = task.outcome == "done" and task.status is not None
    return ended and not task.note.startswith("stopped")


def write_heads(folder: Folder, experiments: Iterable[str]) -> None:
    """Write CSV files without values, for figures that have none: the report shows them.

    `experiments`: names of the files.
    """
    (folder.path / FOLDER).mkdir(exist_ok=True)
    for name in experiments:
        file = folder.path / FOLDER / name
        if not file.exists():
            write_text(file, comma_separated(Row._fields, []))


def write(run: StoredRun, experiments: dict[str, Experiment]) -> None:
    """Write the values of figures as CSV files into the run folder.

    `experiments`: figures by file name.
    """
    folder = run.folders[0].path / FOLDER
    folder.mkdir(exist_ok=True)
    for file, experiment in experiments.items():
        write_text(folder / file, comma_separated(Row._fields, rows(run, experiment)))


def read(file: Path) -> list[Row]:
    """Return the values of a figure from its CSV file.

    `file`: as written by `write`.

    Raises
    ------
    InputError
        If the file is not one.
    """
    with open(file, encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    if not lines or tuple(lines[0]) != Row._fields:
        raise InputError(
            f"not the values of a figure: need {','.join(Row._fields)}", file=str(file)
        )
    try:
        return [
            Row(measure, _position(x), series, int(seed), name, float(value) if value else None)
            for measure, x, series, seed, name, value in lines[1:]
        ]
    except ValueError as error:
        raise InputError(f"not the values of a figure: {error}", file=str(file)) from None


def _position(text: str) -> float | str:
    """Return a position on the axis: a number where it is one."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def written(run: StoredRun) -> dict[str, tuple[Experiment, list[Row]]]:
    """Return the figures whose CSV files are in the folders of a run, with their values, by file.

    The values are read from the files. In three cases they are computed from the records. A run was
    killed or got more records, there are several folders, or a file lacks a measure.
    """
    files = {
        file.name: file
        for folder in run.folders
        for file in sorted(folder.path.glob(f"{FOLDER}/*.csv"))
    }
    alone = len(run.folders) == 1
    found: dict[str, tuple[Experiment, list[Row]]] = {}
    for name, quick in sorted({(file.partition("-figure")[0], "@quick" in file) for file in files}):
        for file, experiment in suite(f"{name}-figures", quick=quick).items():
            if file in files:
                known = read(files[file]) if alone and _is_current(run, files[file]) else []
                wanted = {*experiment.metrics, *experiment.measures}
                whole = {row.measure for row in known} >= wanted
                found[file] = experiment, known if known and whole else rows(run, experiment)
    return found


def _is_current(run: StoredRun, file: Path) -> bool:
    """Return whether no record was added to a run, or removed, after a file was written.

    `cp -a` and `rsync -a` add records and then set the folder's time of modification (mtime) back.
    They cannot set its time of change (ctime) back.
    """
    tasks = run.folders[0].tasks.stat()
    return max(tasks.st_mtime_ns, tasks.st_ctime_ns) <= file.stat().st_mtime_ns
