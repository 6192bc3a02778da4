"""Run the papers' figures and write what became of their claims: a page and its data."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from schedgap.analysis.comparing.compare import OnRecord, compare, work
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.evaluations import drawing, experiments
from schedgap.analysis.evaluations.judging import (
    JUDGED,
    Judgement,
    Part,
    Row,
    Sentence,
    VerdictWord,
    judge_claims,
    sentences,
)
from schedgap.analysis.evaluations.setup import players, sizes
from schedgap.analysis.pages.families import markdown_table
from schedgap.analysis.plots.csv_text import comma_separated
from schedgap.errors import UsageError, choices
from schedgap.instances.families import FAMILIES, OWN
from schedgap.instances.records import write_text
from schedgap.models.family import family
from schedgap.models.figure import Experiment

PAGE, DATA = "reproduction.md", "reproduction"  # a file, and the folder with its data
FULL = "full"  # subfolder of the data: values at the papers' sizes, on fewer replications
VERDICTS: tuple[VerdictWord, ...] = (
    *JUDGED, "measured", "input", "not testable", "not measured",
)  # fmt: skip
APART: tuple[VerdictWord, ...] = ("not stated", "ours")
Values = dict[str, tuple[Experiment, list[Row]]]  # keys are file names


def chosen(names: Iterable[str], *, quick: bool) -> dict[str, Experiment]:
    """Return the figures with these names, by file name.

    `names`: `all`, a family, or the suites `FAMILY-figures` and `FAMILY-figure-N`. `quick`: whether
    to scale them down.

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

    `figures`: figures by file name. `workers`: number of parallel tasks. `on_record`: see
    `compare`.
    """
    limits = sorted({each.time_limit for each in figures.values()})
    for limit in limits:
        group = [each for each in figures.values() if each.time_limit == limit]
        compare(group, run=run, workers=workers, time_limit=limit, on_record=on_record)
    return Run(run)


def plan(figures: dict[str, Experiment], *, run: str | os.PathLike[str]) -> list[dict[str, object]]:
    """Return what `measure` would do, without doing it: a row for each family.

    `figures`: figures by file name. `run`: the run folder; it need not exist.

    Keys: family, figures, tasks, done (tasks with results in the folder), hours_done (which these
    took, one after the other), hours_left (at most: if each of the others uses up its time limit).
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

    `names`: names of files, with or without `.csv`; all figures if it is empty.

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

    `figures`: as returned by `named` or `values`.
    """
    return [item for each, rows in figures.values() for item in judge_claims(each, rows)]


def draw(figures: Values, folder: Path, suffix: str) -> list[Path]:
    """Draw figures into files and return their paths; each measure has a file.

    `figures`: as returned by `named`. `folder`: the files go into `figures` in it. `suffix`: kind
    of the files.
    """
    place = folder / experiments.FOLDER
    place.mkdir(parents=True, exist_ok=True)
    files = []
    for name, (experiment, rows) in figures.items():
        for measure in dict.fromkeys(row.measure for row in rows):
            of = "" if measure == experiment.objective else f"-{measure.replace(' ', '-')}"
            file = place / f"{name.removesuffix('.csv')}{of}.{suffix}"
            drawing.picture(experiment, measure, rows).savefig(file, dpi=200)
            files.append(file)
    return files


def publish(run: Run, out: Path) -> Path:
    """Copy the values of a run's figures into a folder and write the page next to it.

    `out`: folder of the page; the values go into `reproduction` in it.

    It returns the page.
    """
    data = out / DATA
    data.mkdir(parents=True, exist_ok=True)
    for file, (_, rows) in experiments.written(run).items():
        write_text(data / file, comma_separated(Row._fields, rows))
    write_text(out / PAGE, page(data))
    return out / PAGE


def values(data: Path) -> Values:
    """Return the figures whose values are in a folder, in the order of the families.

    `data`: folder of CSV files.
    """
    found: Values = {}
    for quick in (True, False):
        for name in _families(data):
            for file, experiment in experiments.suite(f"{name}-figures", quick=quick).items():
                if (data / file).exists():
                    found[file] = experiment, experiments.read(data / file)
    return found


def _families(data: Path) -> list[str]:
    """Return the families of this package, and others that have values in a folder."""
    others = (name for name in FAMILIES if name not in OWN)
    return [*OWN, *(name for name in others if any(data.glob(f"{name}-figure-*.csv")))]


def page(data: Path) -> str:
    """Return the page in Markdown: the sentences of the papers on their figures, with verdicts.

    `data`: folder of CSV files.
    """
    found = values(data)
    names = _families(data)
    figures = {
        name: [(each, rows) for each, rows in found.values() if each.family == name]
        for name in names
    }
    said = {
        name: sentences(item for each, rows in mine for item in judge_claims(each, rows))
        for name, mine in figures.items()
    }
    quick = all(each.quick for each, _ in found.values())
    parts = [
        "# Which sentences of the papers' evaluations we could reproduce",
        INTRODUCTION.replace("COMMAND", "schedgap figure all" + " --quick" * quick),
        markdown_table(
            ("paper", "sentences", *VERDICTS, *APART),
            [
                (f"[{family(name).title}](#{name})", *map(str, counts(items).values()))
                for name, items in said.items()
            ],
        ),
    ]
    for name, items in said.items():
        parts += [
            f"## {name}",
            family(name).paper.citation,
            *_setup(figures[name]),
            *_family(items),
        ]
    parts += _at_full_size(found, values(data / FULL))
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


INTRODUCTION = f"""\
Each paper says in words what its figures show. Which of these sentences hold again if one
implements the paper from its text?

An example: the ring paper says of its Figure 4 that its algorithm has the smallest average
completion time of four policies. We draw ten instances of the workload that the paper describes,
called *replications* here, and run the four policies on each. The sentence holds on all ten. At our
defaults it is therefore reproduced. The paper does not say in which order the other policies take
the jobs. If they take the smallest job first, the sentence holds on none of the ten. Its verdict is
therefore *mixed*.

The rule:

- A sentence has a *part* for each rival or figure that it names. A part is *reproduced* if it holds
  on at least nine tenths of the replications, *refuted* if it holds on at most one tenth, and else
  *mixed*.
- The words *(judged: ...)* in a row name our test, if the paper's words leave it open. "Much larger
  (judged: larger)" holds if the value is larger.
- A replication does not count if a value is missing, or if the part does not apply to it. An
  example: the ring paper explains why the curve of its Figure 5 falls, rises and falls again. The
  explanation does not apply to a replication whose curve only falls.
- A part that claims an effect fails on a replication without this effect.
- We scan parameters that a paper does not state. A part that is reproduced at one setting and
  refuted at our defaults, or the other way round, is *mixed*. If nothing is judged at our defaults,
  the verdict at the other settings counts.
- A sentence is *reproduced* if all of its judged parts are, *refuted* if all are, and else *mixed*.
  Its other parts have no influence: a sentence with one refuted part and three measured ones is
  refuted.
- *Measured*: the threshold that decides would be ours. Either the sentence gives no number, as in
  "slight influence", or it gives one without a tolerance, as in "about 9 times". The page shows
  what we measured and gives no verdict.
- *Input*: the sentence is true by construction. The paper's numbers are our inputs or settings.
- *Not testable*: the page gives the reason.
- *Not measured*: fewer than half of the replications to which it applies were measured, or it
  applies to none.
- Separate tables have the rows that a paper, or our copy of it, does not state, and the rows on our
  variants. They count as *not stated* and *ours*, not as sentences.

The column *measured* first counts the replications. It then says whether the sentence holds for
their means, as a paper plots them, if the verdict does not say so. It ends with the number that the
sentence is about: its median over the replications, and its least and greatest value.

Instances of the scale *quick* are smaller than the paper's, except in family ring. Without
`--quick` the figures have the paper's sizes.

The papers do not publish their workloads. A refutation says that the text does not suffice to
obtain the result. It does not say that the result was never obtained.

[The glossary](glossary.md) explains the words of this page.

`COMMAND` computes this page and its data (`{DATA}/*.csv`). `models/<family>/claims.toml` lists the
sentences of each paper, with what decides them.
"""


def counts(items: Sequence[Sentence]) -> dict[str, int]:
    """Return how many sentences of a paper there are, for each verdict too, and how many rows.

    `items`: of one paper.
    """
    count = Counter(item.verdict for item in items if _standing(item) == "paper")
    beside = Counter(_standing(item) for item in items for _ in item.parts)
    found: dict[str, int] = {"sentences": count.total()}
    found |= {word: count[word] for word in VERDICTS}
    return found | {word: beside[word] for word in APART}


def _standing(item: Sentence) -> str:
    return item.parts[0].judgement.claim.standing


def _setup(figures: Sequence[tuple[Experiment, Sequence[Row]]]) -> list[str]:
    """Return how large the instances of the figures are, and which methods run in them."""
    usual = [figure for figure in figures if not figure[0].setting]
    if not usual:
        return []
    return [
        markdown_table(("figures", "scale", "instances", "replications"), sizes(usual)),
        markdown_table(("name", "figures", "method here", "what it is"), players(usual)),
    ]


def _family(items: Sequence[Sentence]) -> list[str]:
    own = [item for item in items if _standing(item) == "paper"]
    order = [figure for item in items for figure in item.figures]
    tables = [
        markdown_table(
            ("figure", "the paper", "where", "measured", "verdict"),
            [line for item in own for line in _lines(item)],
        )
    ]
    for word, title in (
        (
            "not stated",
            "Not stated in the paper, or in our copy of it, and in no count of sentences:",
        ),
        ("ours", "On variants of ours, which are in no count of sentences:"),
    ):
        beside = [part for item in items if _standing(item) == word for part in item.parts]
        beside.sort(key=lambda part: order.index(part.judgement.experiment.figure))
        if beside:
            head = ("figure", "the row", "where", "measured")
            tables += [title, markdown_table(head, [_line(part)[:4] for part in beside])]
    every = [part for item in items for part in item.parts]
    scans = [part for part in every if any(each.n_measured for each in part.scanned)]
    if scans:
        tables += [
            "Parameters that the paper does not state, scanned:",
            markdown_table(
                ("figure", "the row", "settings and verdicts"),
                [
                    (figure, text, "; ".join(map(_at, part.scanned)))
                    for part in scans
                    for figure, text, *_ in [_line(part)]
                ],
            ),
        ]  # fmt: skip
    return tables if own else tables[1:]


def _at_full_size(quick: Values, full: Values) -> list[str]:
    """Return which verdicts on rows, at our defaults, change at the papers' sizes."""
    known = {_row(item): item for item in judgements(quick) if not item.experiment.setting}
    measured, changed = [], []
    for experiment, rows in full.values():
        judged = [
            (known[_row(item)], item)
            for item in judge_claims(experiment, rows)
            if item.verdict in JUDGED and _row(item) in known
        ]
        other = [(before, after) for before, after in judged if before.verdict != after.verdict]
        places = ", ".join(f"{x}" for x in dict.fromkeys(row.x for row in rows))
        names = experiment.family, experiment.figure
        bars = experiment.series == (experiment.x,)
        axis = "bars" if bars else f"{experiment.x}: {places}"
        seeds = len({row.seed for row in rows})
        measured.append((*names, axis, f"{seeds}", f"{len(judged)}", f"{len(other)}"))
        changed += [
            (*names, " – ".join(filter(None, (after.claim.sentence, after.claim.text))),
             *(f"{each.verdict} ({each.held} of {each.n_measured})" for each in (before, after)))
            for before, after in other
        ]  # fmt: skip
    if not measured:
        return []
    head = ("paper", "figure", "positions", "replications", "rows judged", "rows that change")
    return [
        "## At the papers' sizes",
        AT_FULL_SIZE,
        markdown_table(head, measured),
        "Rows whose verdict changes, at our defaults:",
        markdown_table(("paper", "figure", "the row", "quick", "at the paper's size"), changed),
    ]


AT_FULL_SIZE = f"""\
These figures have the papers' numbers of jobs and machines. They have fewer replications, and of an
axis mostly its two ends, so that one core can run them in an hour or two. With three replications a
row is reproduced if it holds on all three, and refuted if it holds on none. Series of ours and
bounds were left out. The values are in `{DATA}/{FULL}/*.csv`.
"""


def _row(item: Judgement) -> tuple[str, str, str, str, str]:
    """Return what tells a row of the page from the others."""
    claim, experiment = item.claim, item.experiment
    return experiment.family, experiment.figure, claim.sentence, claim.text, claim.standing


def _lines(item: Sentence) -> list[tuple[str, ...]]:
    """Return the rows of a sentence: one with its verdict, and one for each of several parts."""
    if len(item.parts) == 1:
        return [_line(item.parts[0])]
    count = Counter(part.verdict for part in item.parts)
    words = ", ".join(f"{count[word]} {word}" for word in VERDICTS if count[word])
    head = (", ".join(item.figures), item.text, item.source, f"parts: {words}",
            f"**{item.verdict}**")  # fmt: skip
    return [head, *map(_within, item.parts)]


def _within(part: Part) -> tuple[str, ...]:
    """Return the row of one of several parts; its place stands with the sentence."""
    figure, text, _, measured, _ = _line(part)
    return figure, f"– {text}", "", measured, part.verdict


def _line(part: Part) -> tuple[str, ...]:
    item = part.judgement
    measured = item.measured
    if part.depends:
        others = [each for each in part.scanned if each.verdict != item.verdict]
        decisive = [other for other in others if other.verdict in JUDGED]
        measured += f" ({item.verdict} at our defaults); {'; '.join(map(_at, decisive))}"
    return (item.experiment.figure, item.claim.text, item.claim.source, measured,
            f"**{part.verdict}**")  # fmt: skip


def _at(item: Judgement) -> str:
    setting = ", ".join(f"{key} = {value}" for key, value in item.experiment.setting.items())
    if item.claim.holds is None:
        return f"{setting}: {item.spread or item.verdict}"
    if 0 < item.n_not_applicable == item.n_replications:
        return f"{setting}: does not apply"
    return f"{setting}: {item.verdict} ({item.held} of {item.n_measured})"
