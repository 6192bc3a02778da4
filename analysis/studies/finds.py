"""The record of a worst case: the instance, the evidence, texts, pictures and files."""

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedgap.analysis.records.ratios import RatioInterval
from schedgap.analysis.results.bounds import Scale
from schedgap.analysis.results.solution import Solution
from schedgap.analysis.studies.targets import REFUTING_SCORE, Target
from schedgap.errors import InputError
from schedgap.instances.instance import Instance, html_table
from schedgap.instances.records import write_json, write_text
from schedgap.models.family import family

PathLike = str | os.PathLike[str]

_SHOWN = 3  # faults in a table
_FILES = ("instance", "find", "search")  # files of a folder, besides one for each method
_FACTS = (
    "claim",
    "faults",
    "instance",
    "not certified",
    "objective",
    "search",
)  # keys that are not methods
_LED = "found_score and curve: a value below 1 says how nearly the claim is missed"


@dataclass(frozen=True, slots=True)
class WorstCase:
    """An instance on which a method does badly, with the evidence.

    Attributes
    ----------
    instance : Instance
        The instance, shrunk.
    target : Target
        What was searched.
    solution : Solution
        Of the method.
    references : tuple of Solution
        What the ratio is to: the optimum by `exact` and by a second exact method, a bound, or the
        other method.
    ratio : RatioInterval
        Ratio of the method to the optimum, or to the other method.
    guarantee : mapping
        The paper's claim on the method on this instance: `claim`, `factor`, `holds`, `failed`.
    score : float
        What was maximised: the lower end of the ratio; with `guarantee`, that over the claimed
        factor, or how far the claim is missed.
    found_score : float
        Score before shrinking; as in `curve`, a value below 1 of a claim that is measured is how
        nearly it is missed (`Guarantee.near`).
    evaluations : int
        Instances evaluated by all chains.
    shrink_evaluations : int
        Instances evaluated while shrinking.
    seconds : float
        Of search and shrinking.
    curve : tuple of (int, float)
        Number of evaluations of a chain, and the best score of all chains from then on.
    faults : tuple of str
        Errors of methods during the search; not expected.
    uncertified : str
        Why the ratio is not certified; empty if it is.
    """

    instance: Instance
    target: Target
    solution: Solution
    references: tuple[Solution, ...]
    ratio: RatioInterval
    guarantee: Mapping[str, Any]
    score: float
    found_score: float
    evaluations: int
    shrink_evaluations: int
    seconds: float
    curve: tuple[tuple[int, float], ...]
    faults: tuple[str, ...] = ()
    uncertified: str = ""

    @property
    def refuted(self) -> bool:
        """Whether the instance refutes the claim that was searched for."""
        return self.target.guarantee is not None and self.score > REFUTING_SCORE

    @property
    def confirmed(self) -> bool:
        """Whether two exact methods agree on the optimum."""
        scale = Scale.of(self.instance)
        bounds = [reference for reference in self.references if reference.kind == "exact"]
        closed = [
            bound.objective
            for bound in bounds
            if bound.objective is not None
            and bound.bound is not None
            and scale.meets(bound.objective, bound.bound)
        ]
        return len(closed) >= 2 and all(scale.meets(value, closed[0]) for value in closed)

    @property
    def _is_led(self) -> bool:
        """Whether scores below 1 are not the measure of the claim, but how nearly it is missed."""
        claims = family(self.target.family).paper.guarantees
        return self.target.guarantee is not None and claims[self.target.guarantee].near is not None

    def gantt(self) -> Any:
        """Return the Gantt chart of the method's schedule above the first reference's."""
        shown = (reference for reference in self.references if reference.schedule is not None)
        return self.solution.gantt(next(shown, None))

    def plot(self) -> Any:
        """Return the best score over the evaluations, as a Plotly figure; the claim is a line."""
        from schedgap.analysis.plots.figure import Figure

        figure = Figure()
        counts = [count for count, _ in self.curve] + [max(self.evaluations, 1)]
        scores = [score for _, score in self.curve]
        figure.add_scatter(
            x=counts, y=[*scores, scores[-1]], mode="lines", line_shape="hv", name="best score"
        )
        factor = self.guarantee.get("factor")
        if self.target.guarantee is not None:
            figure.add_hline(1.0, line_dash="dot", annotation_text="the claim")
        elif factor is not None:
            figure.add_hline(factor, line_dash="dot", annotation_text=self.guarantee["claim"])
        what = "over the claim" if self.target.guarantee else "ratio"
        what += " (below 1: how nearly it is missed)" if self._is_led else ""
        figure.update_layout(
            xaxis_title="evaluations of a chain",
            yaxis_title=f"{self.target.method}: worst {what}",
            template="plotly_white",
        )
        return figure

    def to_data(self) -> dict[str, Any]:
        """Return what is known on the find as plain JSON data, without schedules."""
        return {
            "target": self.target.to_data(),
            "instance_sha256": self.instance.sha256,
            "objective": self.solution.objective,
            "references": [
                {
                    "method": reference.method,
                    "objective": reference.objective,
                    "bound": reference.bound,
                }
                for reference in self.references
            ],
            "ratio": _plain(self.ratio),
            "guarantee": dict(self.guarantee),
            "score": self.score,
            "found_score": self.found_score,
            "refuted": self.refuted,
            "confirmed": self.confirmed,
            "evaluations": self.evaluations,
            "shrink_evaluations": self.shrink_evaluations,
            "seconds": round(self.seconds, 1),
            "curve": [list(point) for point in self.curve],
            "faults": list(self.faults),
            **({"uncertified": self.uncertified} if self.uncertified else {}),
        } | ({"note": _LED} if self._is_led else {})

    def save(self, folder: PathLike) -> None:
        """Write the instance, the solutions with their evidence, the find and its pictures.

        Parameters
        ----------
        folder : path
            Where; created if needed. `instance.json`, `find.json`, `METHOD.json` of each solution
            (`METHOD-2.json` if that is taken), `gantt.html` and `curve.html`.
        """
        place = made_folder(folder)
        write_json(place / "instance.json", self.instance.to_data())
        taken = set(_FILES)
        for solution in (self.solution, *self.references):
            name = _free(solution.method, taken)
            taken.add(name.casefold())
            solution.save(place / f"{name}.json")
        write_json(place / "find.json", self.to_data())
        for name, figure in (("gantt", self.gantt()), ("curve", self.plot())):
            write_text(place / f"{name}.html", figure.to_html(include_plotlyjs="cdn"))

    def facts(self) -> dict[str, str]:
        """Return what is known on the find as texts by name, for tables."""
        against = self.target.against
        what = "optimum" if self.target.optimum else against
        facts = {f"ratio to {what}": str(self.ratio)}
        if self.uncertified:
            facts["not certified"] = f"{self.uncertified}; the lower end is certain"
        if self.guarantee:
            factor = self.guarantee.get("factor")
            facts["claim"] = self.guarantee["claim"]
            if factor is not None:
                facts["claimed factor"] = f"{factor:.6g}"
        if self.target.guarantee is not None:
            verdict = "refuted" if self.refuted else "not refuted"
            facts[self.target.guarantee] = f"{verdict} ({self.score:.4g} times the claim)"
        facts["instance"] = ", ".join(f"{k} {v}" for k, v in self.instance.summary().items())
        facts["objective"] = f"{self.solution.objective:.10g}"
        for solution in (self.solution, *self.references):
            if solution.outside:
                facts[f"rules of {solution.method}"] = solution.outside
        for reference in self.references:
            name = f"method {reference.method}" if reference.method in _FACTS else reference.method
            facts[name] = " ".join(
                f"{what} {value:.10g}"
                for what, value in (("objective", reference.objective), ("bound", reference.bound))
                if value is not None
            )
        facts["search"] = (
            f"seed {self.target.seed}, {self.evaluations} evaluations, {self.seconds:.0f} s"
        )
        if self.faults:
            more = len(self.faults) - _SHOWN
            facts["faults"] = "; ".join(self.faults[:_SHOWN]) + (
                f"; and {more} more" if more > 0 else ""
            )
        return facts

    def __repr__(self) -> str:
        facts = "; ".join(f"{key}: {value}" for key, value in self.facts().items())
        return f"<worst case of {self.target.family} {self.target.method}: {facts}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        title = f"<b>{self.target.family} {self.target.method}</b>"
        return title + html_table(self.facts())


def _free(name: str, taken: Collection[str]) -> str:
    """Return the name of a file that is not taken; upper and lower case are the same."""
    number, free = 1, name
    while free.casefold() in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def annotated(found: WorstCase, workers: int, limits: Mapping[str, Any] | None) -> Instance:
    """Return the instance of a find with `meta.worst_case`, as in `instances/library`.

    `workers`: number of chains of the search. `limits`: arguments of `worst_case` by which the
    search ends at the same instance again; None if a time limit had an influence.
    """
    target, factor = found.target, found.guarantee.get("factor")
    values = [
        reference.objective for reference in found.references if reference.objective is not None
    ]
    pick = min if found.solution.sense == "min" else max
    facts: dict[str, Any] = {
        "method": target.method,
        "options": dict(target.options),
        "against": target.against,
        "objective": found.solution.objective,
        "reference": pick(values) if values else None,
        "ratio": _plain(found.ratio),
    }
    if factor is not None:
        facts["claimed"] = factor
    if found.refuted:
        facts |= {"refutes": target.guarantee, "score": found.score}
    facts["found"] = {
        "seed": target.seed,
        "workers": workers,
        "evaluations": found.evaluations,
        "seconds": round(found.seconds),
    }
    if limits is not None and target.own is None and target.other is None:
        facts["found"]["call"] = {**_call(target, workers), **limits}
    return found.instance.replace(meta={**found.instance.meta, "worst_case": facts})


def _call(target: Target, workers: int) -> dict[str, Any]:
    """Return the arguments of `worst_case` for a search, but for its limits."""
    call: dict[str, Any] = {"family": target.family, "method": target.method}
    call |= {} if target.against == "exact" else {"against": target.against}
    plain = ("guarantee", "preset", "settings", "jobs", "fixed")
    given = {name: getattr(target, name) for name in plain} | {"fixed": list(target.fixed)}
    call |= {name: value for name, value in given.items() if value}
    return call | {"seed": target.seed, "workers": workers} | dict(target.options)


def _plain(ratio: RatioInterval) -> list[float | None]:
    """Return the ends of an interval; None for an infinite one."""
    return [end if math.isfinite(end) else None for end in (ratio.low, ratio.high)]


def made_folder(folder: PathLike) -> Path:
    """Return a folder, created if needed.

    `folder`: where.

    Raises
    ------
    InputError
        If it cannot be created.
    """
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", file=str(folder)) from None
    return place
