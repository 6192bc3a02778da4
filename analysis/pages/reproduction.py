"""Run the papers' figures and write what became of their claims: a page and its data."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from schedgap.analysis.comparing.compare import OnRecord, compare, work
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.evaluations import experiments
from schedgap.analysis.evaluations.judging import Judgement, Row, VerdictWord, judge
from schedgap.analysis.pages.families import markdown_table
from schedgap.analysis.plots.charts import comma_separated
from schedgap.errors import UsageError, choices
from schedgap.instances.families import FAMILIES, OWN
from schedgap.instances.records import write_text
from schedgap.models.family import family
from schedgap.models.figure import Experiment

PAGE, DATA = "reproduction.md", "reproduction"  # a file, and the folder with its data
VERDICTS: tuple[VerdictWord, ...] = (
    "reproduced", "mixed", "refuted", "not testable", "not measured",
)  # fmt: skip
Values = dict[str, tuple[Experiment, list[Row]]]  # by file name


def chosen(names: Iterable[str], *, quick: bool) -> dict[str, Experiment]:
    """Return the figures with these names, by file name.

    Parameters
    ----------
    names : iterable of str
        `all`, a family, or the suites `FAMILY-figures` and `FAMILY-figure-N`.
    quick : bool
        Whether to scale them down.

    Raises
    ------
    UsageError
        If there is no such figure.
    """
    figures: dict[str, Experiment] = {}
    for name in names:
        words = OWN if name == "all" else (name,)
        for word in words:
            found = experiments.suite(f"{word}-figures" if word in FAMILIES else word, quick=quick)
            if not found:
                raise UsageError(
                    f"no figure '{name}': need all, a family, FAMILY-figure-N or a run folder"
                )
            figures |= found
    return figures


def measure(
    figures: dict[str, Experiment],
    *,
    run: str | os.PathLike[str],
    workers: int | None = None,
    on_record: OnRecord | None = None,
) -> Run:
    """Run the methods of figures, with the time limit of each, and return the run.

    Results that the run folder has already are kept. The values of a figure are written as soon as
    all of its tasks have ended.

    Parameters
    ----------
    figures : dict
        Figures by file name.
    run : path
        The run folder.
    workers : int, optional
        Number of parallel tasks.
    on_record : callable, optional
        See `compare`.
    """
    limits = sorted({each.time_limit for each in figures.values()})
    for limit in limits:
        group = [each for each in figures.values() if each.time_limit == limit]
        compare(group, run=run, workers=workers, time_limit=limit, on_record=on_record)
    return Run(run)


def plan(figures: dict[str, Experiment], *, run: str | os.PathLike[str]) -> list[dict[str, object]]:
    """Return what `measure` would do, without doing it: a row for each family.

    Parameters
    ----------
    figures : dict
        Figures by file name.
    run : path
        The run folder; it need not exist.

    Returns
    -------
    list of dict
        Keys: family, figures, tasks, done (those whose results are in the folder), hours_done
        (which these took, one after the other), hours_left (at most: if each of the others uses up
        its time limit).
    """
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(each.family for each in figures.values()):
        mine = [each for each in figures.values() if each.family == name]
        parts = [
            work([each for each in mine if each.time_limit == limit], run=run, time_limit=limit)
            for limit in sorted({each.time_limit for each in mine})
        ]
        rows.append(
            {
                "family": name,
                "figures": len(mine),
                "tasks": sum(part.tasks for part in parts),
                "done": sum(part.done for part in parts),
                "hours_done": sum(part.seconds for part in parts) / 3600,
                "hours_left": sum(part.most for part in parts) / 3600,
            }
        )
    return rows


def named(run: Run, names: Sequence[str]) -> Values:
    """Return figures of a run with their values, by file name.

    Parameters
    ----------
    run : Run
        A run of figures.
    names : sequence of str
        Names of files, with or without `.csv`; all figures if it is empty.

    Raises
    ------
    UsageError
        If the run has no figures, or none of such a name.
    """
    found = experiments.written(run)
    known = [file.removesuffix(".csv") for file in found]
    for name in names:
        if f"{name.removesuffix('.csv')}.csv" not in found:
            raise UsageError(f"the run has no figure '{name}': {choices(name, known)}")
    if not found:
        raise UsageError(f"{run.folders[0].path}: the run has no figures")
    wanted = {f"{name.removesuffix('.csv')}.csv" for name in names} or set(found)
    return {file: each for file, each in found.items() if file in wanted}


def judgements(figures: Values) -> list[Judgement]:
    """Return the verdicts on the claims of figures.

    Parameters
    ----------
    figures : dict
        As returned by `named` or `values`.
    """
    return [item for each, rows in figures.values() for item in judge(each, rows)]


def draw(figures: Values, folder: Path, suffix: str) -> list[Path]:
    """Draw figures into files and return their paths; each measure has a file.

    Parameters
    ----------
    figures : dict
        As returned by `named`.
    folder : Path
        The files go into `figures` in it.
    suffix : {"pdf", "svg", "png"}
        Kind of the files.
    """
    place = folder / experiments.FOLDER
    place.mkdir(parents=True, exist_ok=True)
    files = []
    for name, (experiment, rows) in figures.items():
        for measure in dict.fromkeys(row.measure for row in rows):
            of = "" if measure == experiment.objective else f"-{measure.replace(' ', '-')}"
            file = place / f"{name.removesuffix('.csv')}{of}.{suffix}"
            experiments.picture(experiment, measure, rows).savefig(file, dpi=200)
            files.append(file)
    return files


def publish(run: Run, out: Path) -> Path:
    """Copy the values of a run's figures into a folder and write the page beside it.

    Parameters
    ----------
    run : Run
        A run of figures.
    out : Path
        Folder of the page; the values go into `reproduction` in it.

    Returns
    -------
    Path
        The page.
    """
    data = out / DATA
    data.mkdir(parents=True, exist_ok=True)
    for file, (_, rows) in experiments.written(run).items():
        write_text(data / file, comma_separated(Row._fields, rows))
    write_text(out / PAGE, page(data))
    return out / PAGE


def values(data: Path) -> Values:
    """Return the figures whose values are in a folder, in the order of the families.

    Parameters
    ----------
    data : Path
        Folder of CSV files.
    """
    found: Values = {}
    for quick in (True, False):
        for name in _families(data):
            for file, experiment in experiments.suite(f"{name}-figures", quick=quick).items():
                if (data / file).exists():
                    found[file] = experiment, experiments.read(data / file)
    return found


def _families(data: Path) -> list[str]:
    """Return the families of this package, and those of others that have values in a folder."""
    others = (name for name in FAMILIES if name not in OWN)
    return [*OWN, *(name for name in others if any(data.glob(f"{name}-figure-*.csv")))]


def page(data: Path) -> str:
    """Return the page in Markdown: all claims of the papers' figures with their verdicts.

    Parameters
    ----------
    data : Path
        Folder of CSV files.
    """
    found = values(data)
    judged = {
        name: [
            item
            for experiment, rows in found.values()
            if experiment.family == name
            for item in judge(experiment, rows)
        ]
        for name in _families(data)
    }
    scale = "scaled down" if all(each.quick for each, _ in found.values()) else "full scale"
    command = "schedgap figure all" + (" --quick" if scale == "scaled down" else "")
    parts = [
        "# What the papers' evaluations claim, and what we measured",
        f"`{command}` computes this page and its data (`{DATA}/*.csv`); figures: {scale}. Each "
        "claim is a predicate in the family's `figures.py`, evaluated on every draw: a claim is "
        "*reproduced* if it holds on at least nine tenths of the draws, *refuted* if it holds on "
        "at most one tenth, and *mixed* otherwise; draws on which a value is missing do not "
        "count, and there is no verdict if they are more than half. Where the means of the values "
        "over the draws, as a paper plots them, would say otherwise or decide a mixed verdict, "
        "this stands after the count, and then the number that the claim is about: its median over "
        "the draws, and its least and greatest value. The papers' workloads are not published; "
        "instances are drawn from what their texts state, so that a refutation says that the text "
        "does not suffice to obtain the result, not that it was never obtained.",
        markdown_table(
            ("paper", *VERDICTS),
            [
                (f"[{family(name).title}](#{name})", *_counts(items))
                for name, items in judged.items()
            ],
        ),
    ]  # fmt: skip
    for name, items in judged.items():
        parts += [f"## {name}", family(name).paper.citation, *_family(items)]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def _counts(items: Sequence[Judgement]) -> list[str]:
    """Return the number of claims for each verdict; copies at other settings do not count."""
    count = Counter(item.verdict for item in items if not item.experiment.setting)
    return [f"{count[verdict]}" for verdict in VERDICTS]


def _family(items: Sequence[Judgement]) -> list[str]:
    rows = [
        (item.experiment.figure, item.claim.text, item.claim.source, item.measured,
         f"**{item.verdict}**")
        for item in items
        if not item.experiment.setting
    ]  # fmt: skip
    parts = (
        [markdown_table(("figure", "the paper", "where", "measured", "verdict"), rows)]
        if rows
        else []
    )
    scans: dict[tuple[str, str], list[Judgement]] = {}
    for item in items:
        if item.experiment.setting and item.verdict != "not testable":
            scans.setdefault((item.experiment.figure, item.claim.text), []).append(item)
    if scans:
        parts += [
            "Parameters that the paper does not state, scanned:",
            markdown_table(
                ("figure", "the paper", "settings and verdicts"),
                [
                    (figure, text, "; ".join(map(_at, group)))
                    for (figure, text), group in scans.items()
                ],
            ),
        ]  # fmt: skip
    return parts


def _at(item: Judgement) -> str:
    setting = ", ".join(f"{key} = {value}" for key, value in item.experiment.setting.items())
    return f"{setting}: {item.verdict} ({item.held} of {item.draws})"
