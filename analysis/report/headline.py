"""Headline of the report: what was run, how well the optima are known, what failed."""

import math
from collections import Counter
from collections.abc import Iterable

from schedgap.analysis.records.ratios import divide
from schedgap.analysis.report.results import ReportData, Result, mean_and_worst
from schedgap.analysis.report.words import (
    count,
    in_words,
    listing,
    on_average,
    ratio_text,
    tightness,
    times_the_optimum,
)
from schedgap.instances.solution import CHECKABLE

VARIANT = "solved only as a variant of the problem"


def headline(report: ReportData) -> tuple[str, list[str]]:
    """Return the headline and the sentences below it.

    Parameters
    ----------
    report : ReportData
        What the report shows.
    """
    names = report.families
    if not names:
        return "Nothing has been run yet.", []
    heads = [
        f"{count(len(_instances(report, [name])), 'instance')} of {name}: {_known(report, [name])}."
        for name in names
    ]
    tails = [_algorithms(report, name) for name in names]
    if len(names) == 1:
        return heads[0], [text for text in tails if text]
    every = count(len(_instances(report, names)), "instance")
    sentences = [" ".join(filter(None, both)) for both in zip(heads, tails, strict=True)]
    return f"{every} of {len(names)} families: {_known(report, names)}.", sentences


def _instances(report: ReportData, names: Iterable[str]) -> list[str]:
    hashes = (each.record.instance.sha256 for name in names for each in report.of(name))
    return list(dict.fromkeys(hashes))


def _known(report: ReportData, names: Iterable[str]) -> str:
    """Return a text on how well the optima are known, from all methods together."""
    gaps: list[float | None] = []
    counts: Counter[str] = Counter()
    infeasible: dict[str, bool] = {}  # by instance; whether one of the claims can be checked
    senses = {}
    for each in report.results:
        sha256, solution = each.record.instance.sha256, each.record.solution
        senses[sha256] = each.record.sense
        if solution is not None and solution.status == "infeasible" and not each.record.problem:
            checkable = solution.proof is not None and solution.proof.kind in CHECKABLE
            infeasible[sha256] = infeasible.get(sha256, False) or checkable
    for sha256 in _instances(report, names):
        bracket = report.run.brackets.get((sha256, ""))
        if bracket is None:
            counts[VARIANT] += 1
        elif bracket.best is None and sha256 in infeasible:
            counts["proved infeasible" if infeasible[sha256] else "infeasible without a proof"] += 1
        elif bracket.best is None:
            gaps.append(None)
        elif bracket.closed and not bracket.proved:
            counts["optimal without a proof"] += 1
        elif bracket.closed:
            gaps.append(1.0)
        elif bracket.bound is None:
            gaps.append(math.inf)
        else:
            gaps.append(divide(bracket.best, bracket.bound, senses[sha256]))
    return tightness(gaps, counts)


def _algorithms(report: ReportData, name: str) -> str:
    """Return a sentence for each of the paper's algorithms with default options, else of ours.

    The methods of the user's own come last.
    """
    ours: dict[str, bool] = {
        row.method: row.ours
        for row in report.rows
        if row.family == name and row.kind == "algorithm" and not row.own
    }
    only_ours = all(ours.values())
    by_method: dict[str, list[Result]] = {}
    for each in report.of(name):
        plain = each.record.label == each.record.method
        if plain and ours.get(each.method) == only_ours:
            by_method.setdefault(each.method, []).append(each)
    who = "The paper’s algorithm" if len(by_method) == 1 else "The paper’s"
    exceeded = {row.method: row.exceeded for row in report.rows if row.family == name}
    sentences = []
    for method, results in by_method.items():
        sentences.append(_sentence(f"Our {method}" if only_ours else f"{who} {method}", results))
        if exceeded[method] and not only_ours:
            where = count(exceeded[method], "instance")
            sentences.append(f"On {where} it exceeds its guarantee although the assumptions hold.")
    own: dict[str, list[Result]] = {}
    for each in report.of(name):
        if each.record.own:
            own.setdefault(each.method, []).append(each)
    sentences += [_sentence(f"Your own {method}", results) for method, results in own.items()]
    return " ".join(sentences)


def _sentence(who: str, results: list[Result]) -> str:
    ran = [each for each in results if each.record.outcome != "skipped"]
    solved = [each for each in ran if each.objective is not None]
    if not ran:
        return f"{who} was skipped."
    if not solved:
        return f"{who} found no schedule."
    mean, worst = mean_and_worst(solved)
    if ran[0].record.sense == "min" or mean == (1, 1):
        text = f"{who} is {times_the_optimum(mean, worst, len(solved))}"
    else:
        value = f"the value of {who[:1].lower()}{who[1:]}"
        text = f"The optimum is {in_words(ratio_text(*mean))} times {value}"
        text += on_average(mean, worst)
    if len(solved) < len(ran):
        text += f", on the runs with a schedule ({len(solved)} of {len(ran)})"
    infinite = sum(math.isinf(each.ratio[0]) for each in solved)
    if infinite:
        text += f", apart from {count(infinite, 'infinite ratio')}"
    return f"{text}."


def trouble(report: ReportData) -> str:
    """Return a sentence on how many runs failed, were killed or skipped; empty if none.

    Parameters
    ----------
    report : ReportData
        What the report shows.
    """
    failed = sum(each.failed for each in report.results)
    skipped = sum(each.record.outcome == "skipped" for each in report.results)
    killed = sum(each.record.outcome == "timeout" for each in report.results)
    parts = [(failed, "failed"), (killed, "killed at their limit"), (skipped, "skipped")]
    shown = listing(f"{number} {what}" for number, what in parts if number)
    return f"Of {count(len(report.results), 'run')}, {shown}." if shown else ""
