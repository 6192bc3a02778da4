"""Headline of the report: what was run, how well the optima are known, what failed."""

import math
from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN

from schedgap.analysis.intervals import rounded
from schedgap.analysis.records.ratios import divide
from schedgap.analysis.report.results import Means, ReportData
from schedgap.analysis.report.words import (
    DIGITS,
    count,
    in_words,
    listing,
    on_average,
    ratio_text,
    tightness,
    times_the_optimum,
)
from schedgap.instances.solution import EVIDENCE, Evidence
from schedgap.models.family import family

VARIANT = "with results on a variant of the problem only"
CONTRADICTORY = "with a schedule that refutes a bound"


def headline(report: ReportData, digits: int = DIGITS) -> tuple[str, list[str]]:
    """Return the headline and the sentences below it.

    Over several families, the headline says how far the papers' algorithms are from the optimum;
    the first sentence says how well the optima are known. `report`: what the report shows.
    `digits`: decimals of ratios, as in the table that the sentences comment on.
    """
    names = report.families
    if not names:
        return "Nothing has been run yet.", []
    heads = [
        f"{count(len(_instances(report, [name])), 'instance')} of {name}: "
        f"{_known(report, [name], digits)}."
        for name in names
    ]
    tails = [_algorithms(report, name, digits) for name in names]
    if len(names) == 1:
        return heads[0], [text for text in tails if text]
    every = count(len(_instances(report, names)), "instance")
    sentences = [" ".join(filter(None, both)) for both in zip(heads, tails, strict=True)]
    known = f"{every} of {len(names)} families: {_known(report, names, digits)}."
    finding = _finding(report, digits)
    return (finding, [known, *sentences]) if finding else (known, sentences)


def _finding(report: ReportData, digits: int) -> str:
    """Return a sentence on the mean ratios of the papers' algorithms; empty if one is infinite."""
    papers = [
        (name, method)
        for name in report.families
        for method in _chosen(report, name)
        if not report.ours(name, method)
    ]
    known = (report.own_means.get(key) for key in papers)
    means = [mean.mean for mean in known if mean is not None and mean.n]
    if len(means) < 2 or not all(math.isfinite(end) for mean in means for end in mean):
        return ""
    low, high = min(means), max(means, key=lambda mean: mean[1])
    texts = [
        rounded(mean[end], ROUND_HALF_EVEN if mean[0] == mean[1] else outwards, digits - 1)
        for mean, end, outwards in ((low, 0, ROUND_FLOOR), (high, 1, ROUND_CEILING))
    ]
    return (
        f"On average, the papers’ algorithms miss the optimum by factors of {' to '.join(texts)}."
    )


def _instances(report: ReportData, names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(sha256 for name in names for sha256 in report.hashes.get(name, ())))


def _known(report: ReportData, names: Iterable[str], digits: int) -> str:
    """Return a text on how well the optima are known, from all methods together."""
    gaps: list[float | None] = []
    optimal: Counter[Evidence] = Counter()
    counts: Counter[str] = Counter()
    infeasible: dict[str, Evidence] = {}  # instance -> strongest evidence of any record
    run = report.run
    for row in run.rows:
        if row.status == "infeasible" and row.evidence is not None and not row.problem:
            known = infeasible.get(row.sha256, row.evidence)
            infeasible[row.sha256] = max(known, row.evidence, key=EVIDENCE.index)
    for sha256 in _instances(report, names):
        bracket = run.brackets.get((sha256, ""))
        if bracket is None:
            counts[VARIANT] += 1
        elif bracket.best is None and sha256 in infeasible:
            counts[f"{infeasible[sha256]} infeasible"] += 1
        elif bracket.best is None:
            gaps.append(None)
        elif bracket.closed:
            optimal[bracket.evidence] += 1
        elif bracket.bound is None:
            gaps.append(math.inf)
        elif bracket.comparison == "refuted":
            counts[CONTRADICTORY] += 1
        else:
            gaps.append(divide(bracket.best, bracket.bound, bracket.scale.sense))
    return tightness(optimal, gaps, counts, digits)


def _chosen(report: ReportData, name: str) -> list[str]:
    """Return the paper's algorithms with default options; our algorithms if it has none."""
    records = report.methods(name)
    ours = {
        method: report.ours(name, method)
        for method, record in records.items()
        if record.kind == "algorithm" and not record.own
    }
    only_ours = all(ours.values())
    plain = [method for method in ours if records[method].label == records[method].method]
    return [method for method in plain if ours[method] == only_ours]


def _algorithms(report: ReportData, name: str, digits: int) -> str:
    """Return a sentence for each of the paper's algorithms with default options, else of ours.

    The methods of the user's own come last.
    """
    records = report.methods(name)
    chosen = _chosen(report, name)
    only_ours = any(report.ours(name, method) for method in chosen)
    who = "The paper’s algorithm" if len(chosen) == 1 else "The paper’s"
    sentences = []

    def add(subject: str, method: str) -> None:
        sentences.append(_sentence(subject, report.own_means.get((name, method)), digits))

    equal: dict[tuple[Means | None, int], list[str]] = {}
    for method in chosen:
        facts = report.own_means.get((name, method)), report.exceeded[name, method]
        equal.setdefault(facts, []).append(method)
    for (_, exceeded), (method, *others) in equal.items():
        same = f" (and {listing(others)}, equally)" if others else ""
        add(f"Our {method}{same}" if only_ours else f"{who} {method}{same}", method)
        if exceeded and not only_ours:
            where = count(exceeded, "instance")
            sentences.append(f"On {where} it exceeds its guarantee although the assumptions hold.")
    for method in [method for method, record in records.items() if record.own]:
        add(f"Your own {method}", method)
    return " ".join(sentences)


def _sentence(who: str, means: Means | None, digits: int) -> str:
    """Return how good a method is, over its own instances, and on how many its result is wrong."""
    if means is None:
        return f"{who} was skipped."
    if not means.scheduled:
        text = f"{who} found no {'valid ' if means.wrong else ''}schedule"
    elif not means.n:
        text = f"{who} has no finite ratio to the optimum"
    elif means.sense == "min" or means.mean == (1, 1):
        text = f"{who} is {times_the_optimum(means.mean, means.worst, means.n, digits)}"
    else:
        value = f"the value of {who[:1].lower()}{who[1:]}"
        text = f"The optimum is {in_words(ratio_text(*means.mean, digits))} times {value}"
        text += on_average(means.mean, means.worst, digits)
    if 0 < means.scheduled < means.instances:
        text += f", on the instances with a schedule ({means.scheduled} of {means.instances})"
    if means.n and means.infinite:
        text += f", apart from {count(means.infinite, 'infinite ratio')}"
    if means.wrong:
        text += f". On {count(means.wrong, 'instance')} its result is wrong"
    return f"{text}."


def news(report: ReportData) -> list[str]:
    """Return sentences on exceeded guarantees of the papers, and on claims that are refuted.

    `report`: what the report shows.
    """
    rows = [row for row in report.rows if row.kind == "algorithm" and not row.ours and row.plain]
    exceeded = [
        f"Family {row.family}: {row.method} exceeds its guarantee "
        f"on {count(row.exceeded, 'instance')}."
        for row in rows
        if row.exceeded
    ]
    refuted = dict.fromkeys(
        f"{family(row.family).paper.guarantees[find.refutes].source} ({row.family})"
        for row in rows
        for find in row.finds
        if find.refutes
    )
    text = f"Instances of the library of worst cases refute {listing(refuted)}."
    return [*exceeded, *([text] if refuted else [])]


def trouble(report: ReportData) -> str:
    """Return a sentence on how many runs failed, were killed or skipped; empty if none.

    `report`: what the report shows.
    """
    failed = sum(result.failed for result in report.results)
    skipped = sum(result.task.outcome == "skipped" for result in report.results)
    killed = sum(result.task.outcome == "timeout" for result in report.results)
    parts = [(failed, "failed"), (killed, "killed at their limit"), (skipped, "skipped")]
    shown = listing(f"{number} {what}" for number, what in parts if number)
    return f"Of {count(len(report.results), 'run')}, {shown}." if shown else ""
