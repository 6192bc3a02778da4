"""Scores of instances: how far a method is from the best schedule known.

A score counts only for schedules that the family's rules accept. For a minimised objective the
score is the method's value over the least value of any known schedule. It is hence at most the
ratio to the optimum, even if the optimum is not known. A method that does not end within its limit
has no score.
"""

import math
from typing import NamedTuple

from schedgap.analysis.own.methods import Own
from schedgap.analysis.records.ratios import divide
from schedgap.analysis.runners.request import Limits, Request
from schedgap.analysis.studies.targets import (
    REFUTING_SCORE,
    Options,
    Target,
    allowed,
    changed_options,
    references,
)
from schedgap.errors import FamilyError, InvalidScheduleError, OwnMethodError, SchedgapError
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.models.family import Family, family
from schedgap.models.method import Budget, Method, MethodResult, NullProgress, RunContext
from schedgap.models.paper import Guarantee
from schedgap.solvers.children.clock import Clock

_METHOD_SECONDS = 5.0  # limit of one method on one instance
_TOLD = (FamilyError, InvalidScheduleError, OwnMethodError, TimeoutError)


class Score(NamedTuple):
    """Score of an instance: the ratio, or the ratio over the claimed factor."""

    score: float
    value: float  # the method's value; for a measured claim, its measure
    reference: float


class _Verified(NamedTuple):
    """Value of a schedule that the rules accept, and whether it leaves some of them out."""

    value: float
    relaxed: bool


class Evaluator:
    """Runs the two sides of a target on instances, in this process where engines allow it.

    `target`: what is searched.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.owner: Family = family(target.family)
        self.method: Method = target.chosen()
        self.options = self.method.parse(target.options)
        self.space = allowed(target)
        self.faults: list[str] = []
        claims = self.owner.paper.guarantees
        self.claim = None if target.guarantee is None else claims[target.guarantee]
        self._engine = self.method.choose_engine(None)
        self._references = [(found, found.parse(options)) for found, options in references(target)]

    def score(self, instance: Instance, need: float = -math.inf) -> Score | None:
        """Return the score of an instance; None if it has none, or if it is surely below `need`.

        `need`: a score below this is not wanted.
        """
        try:
            return self._score(instance, need)
        except _TOLD as error:
            self.faults.append(str(error))
        except Exception as error:  # noqa: BLE001 - a failure is reported, not counted as a find
            if not isinstance(error, SchedgapError):
                self.faults.append(f"{type(error).__name__}: {error}")
        return None

    def _score(self, instance: Instance, need: float) -> Score | None:
        if self.claim is not None and self.claim.measure is not None:
            return self._measured(self.claim, instance)
        factor = self._factor(instance)
        if factor is None or self.method.unsupported_reason(instance) is not None:
            return None
        sense = self.owner.sense(instance)
        given = self._verified(self.method, self.options, instance, complete=True)
        if given is None:
            return None
        value, optimum = given.value, self.target.optimum
        known = [] if given.relaxed or not optimum else [value]
        if optimum:
            bound = self._quick_bound(instance)
            if bound is not None and divide(value, bound, sense) < need * factor:
                return None
        for method, options in self._references:
            if method.unsupported_reason(instance) is None:
                found = self._verified(method, options, instance, complete=not optimum)
                if found is not None and not (optimum and found.relaxed):
                    known.append(found.value)
        if not known:
            return None
        best = (min if sense == "min" else max)(known)
        ratio = divide(value, best, sense)
        return Score(ratio / factor, value, best) if 0 < ratio < math.inf else None

    def _measured(self, claim: Guarantee, instance: Instance) -> Score | None:
        """Return by what factor a claim is missed; if it is not, a score < 1 says how nearly."""
        assert claim.measure is not None
        measured = claim.measure(instance)
        score = measured
        if claim.near is not None and measured <= REFUTING_SCORE:
            score = 0.5 + 0.5 * min(max(claim.near(instance), 0.0), 1.0)
        return Score(score, measured, 1.0) if measured > 0 else None

    def _factor(self, instance: Instance) -> float | None:
        """Return by what a ratio is divided; None if the claim says nothing on the instance."""
        if self.claim is None:
            return 1.0
        said = self.claim.evaluate(instance, **changed_options(self.method, self.target.options))
        factor: float | None = said.get("factor")
        return factor if said.get("holds") or self.claim.ours else None

    def _quick_bound(self, instance: Instance) -> float | None:
        """Return the bound of the longest job alone."""
        if not any(method.name == "job-alone" for method in self.owner.methods):
            return None
        method = self.owner.method("job-alone")
        return self._run(method, method.parse({}), instance)[0].bound

    def _verified(
        self, method: Method, options: Options, instance: Instance, *, complete: bool
    ) -> _Verified | None:
        """Return the verified objective of a method's schedule; None without one.

        `complete`: the method must have ended before its limit. The schedule is then its answer,
        not what it had when it was stopped.
        """
        result, seconds = self._run(method, options, instance)
        if complete and seconds >= _METHOD_SECONDS:
            raise TimeoutError(f"method {method.name} needs more than {_METHOD_SECONDS:g} s")
        if result.schedule is None:
            return None
        data = result.schedule.to_data(instance)
        broken = next(iter(self.owner.check(instance, data, options)), None)
        if broken is not None:
            text = f"method {method.name} returned a schedule that breaks {broken.rule}"
            raise InvalidScheduleError(f"{text}: {broken.message}")
        value = float(self.owner.objective(instance, data))
        return _Verified(value, bool(self.owner.omitted_rules(data)))

    def _run(
        self, method: Method, options: Options, instance: Instance
    ) -> tuple[MethodResult, float]:
        """Run a method here, or in a separate child process if it needs another engine.

        Return its result and its seconds.
        """
        if isinstance(method.run, Own):
            return _run_own(method.run, options, instance)
        engine = method.choose_engine(None)
        if method.runs_children or engine in (None, self._engine) or self._engine is None:
            if not method.runs_children and engine is not None:
                self._engine = engine
            clock = Clock(_METHOD_SECONDS)
            call = RunContext(options, engine, Budget(clock, 0), NullProgress())
            return self.owner.run(method, instance, call), clock.elapsed()
        from schedgap.solvers.children.processes import run_child

        reply = run_child(
            "schedgap.analysis.runners.child:run_method",
            FAMILIES[self.owner.name].models,
            instance,
            method.name,
            options,
            engine,
            _METHOD_SECONDS,
            0,
            limit=_METHOD_SECONDS,
            engine=engine,
        )
        result, seconds = reply.result()
        return result, seconds


def _run_own(own: Own, options: Options, instance: Instance) -> tuple[MethodResult, float]:
    """Run a user's own method in its child process; a stopped or failed one raises its error."""
    request = Request(settings=options, limits=Limits(_METHOD_SECONDS))
    run = own.prepare(instance, request).run()
    if run.end == "timeout":
        raise TimeoutError(f"method {own.name} needs more than {_METHOD_SECONDS:g} s")
    if run.end != "done":
        raise run.error or OwnMethodError(f"method {own.name}: {run.message}")
    if run.result is not None and run.result.schedule is not None:
        return run.result, run.seconds
    return MethodResult(run.schedule), run.seconds
