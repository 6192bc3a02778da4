"""Algorithms 1 and 2: the online algorithm A_online, and A_dual, which serves one batch.

Time t is the end of slot t. At time tau_i = 1, 1, 2, 4, 8, ... the jobs that have arrived and are
not yet served form a batch. The batch is served in windows of tau_i slots, the first of which
starts alpha tau_i slots later. E9-E13 are the paper's errata as numbered in `paper.toml`.

Events, one dict each; `time` is the tau_i at which the decision is made, and slots count from
the start of the instance:

- `round` (A1 L2): `round` i begins. `time`; `batch`, the jobs that have arrived and wait.
- `window` (A2 L2): a window is tried for the jobs not yet served. `time`; `window` iota, from 1.
  The events that follow, up to `batch_end`, are `a_maxweight`'s, in slots from 1 on:
  `batch`, `accept`, `prices`, `leave`, `batch_end`.
- `start` (A1 L9): a job gets its slots. `time`, `window`, `job`, and the run: `start`, `duration`,
  `worker_type`, `workers`, with PSs `ps_type`, `ps`.
- `round_end` (A1 L10): `round`, `time`; `left`, the jobs that keep waiting.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import (
    ArrivedJob,
    Log,
    MaxWeightConstants,
    ModesOf,
    Normalise,
    Order,
    RatioFactor,
    ServedBatch,
    Tie,
    WeightRatio,
    arrived_job,
    constants,
    gamma,
    ids_of,
    serve_batch,
    tell,
)
from schedgap.models.elastic.algorithms.closed_horizon import result_within_horizon
from schedgap.models.elastic.algorithms.guarantees import (
    ServedRound,
    alpha_of,
    evaluated,
    windows_needed,
)
from schedgap.models.elastic.algorithms.guarantees import lemma_1 as evaluate_lemma_1
from schedgap.models.elastic.algorithms.pricing import PricedRun
from schedgap.models.elastic.modes import ElasticCluster, cluster
from schedgap.models.elastic.placement import Rule
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.models.online import Arriving

Alpha = Annotated[
    int | Literal["theory", "theory-repaired"],
    "windows of a round, or the number of Theorem 5, as printed or repaired (E12, E13)",
    Ge(1),
]
Batch = Annotated[
    Literal["by", "before"],
    "a round has the jobs that arrive by tau_i (the text), or before (E9)",
]


@dataclass(frozen=True, slots=True, eq=False)
class OnlineSettings:
    """Input of A_online apart from the jobs: cluster, constants and rules."""

    view: ElasticCluster
    const: MaxWeightConstants
    alpha: int = 4
    rule: Rule = "exact"
    order: Order = "arrival"
    tie: Tie = "order"
    compact: bool = False  # ours: start a batch at once, not alpha tau_i later
    batch: Batch = "by"


class ElasticArrivals(Arriving[ArrivedJob]):
    """The jobs of an instance in order of arrival; a job of arrival a is known at time a - 1."""

    def __init__(self, instance: ElasticInstance, modes_of: ModesOf | None = None) -> None:
        """Sort the jobs by arrival, then by place in the list."""
        arrival = [job.arrival for job in instance.jobs]
        super().__init__(arrival, lambda j: arrived_job(instance, j, modes_of))

    def start(self, run: PricedRun, shift: int) -> PricedRun:
        """Move a run of a window to its real time, which must not be in the past.

        `run`: with slots counted from the start of the window. `shift`: slots before the window.
        """
        return run._replace(start=self.may_start(shift + run.start))


def a_dual(
    jobs: Sequence[ArrivedJob], tau: int, settings: OnlineSettings, *, log: Log | None = None
) -> tuple[ServedBatch, ...]:
    """Serve a batch in up to alpha windows of tau slots; prices start at zero in each.

    `jobs`: j_i, in the order that breaks ties. `tau`: slots of a window, >= 2. `settings`:
    constants and rules. `log`: receives the events.

    The results for iota = 1, 2, ... are A_maxweight's on the jobs not served before. They end when
    all are served, as the paper remarks, or when a window serves none of the others.

    Notes
    -----
    Source: Algorithm 2. Guarantee: Lemma 2, which has a gap (E13).
    """
    rest = list(jobs)  # A2 L1: J_i without J_i^s
    windows: list[ServedBatch] = []
    for iota in range(settings.alpha):  # A2 L2
        tell(log, "A2 L2", "window", time=tau, window=iota + 1)
        window = serve_batch(
            settings.view, rest, tau, settings.const,
            rule=settings.rule, order=settings.order, tie=settings.tie, log=log,
        )  # A2 L3  # fmt: skip
        if not window.served:
            break
        windows.append(window)
        taken = {job.place for job, _ in window.served}
        rest = [job for job in rest if job.place not in taken]
        if not rest:
            break
    return tuple(windows)  # A2 L4


def serve_rounds(
    arrivals: ElasticArrivals, settings: OnlineSettings, *, log: Log | None = None
) -> tuple[ElasticSchedule, list[ServedRound]]:
    """Schedule jobs in batches, as they arrive.

    `arrivals`: every job must have a mode. `settings`: T, F, kappa and alpha are known beforehand,
    as in the paper. `log`: receives the events.

    With `compact` a round starts as soon as its time has come and the previous round has ended.
    That is never later: the decisions and the bound on every completion are the same.

    Notes
    -----
    Source: Algorithm 1. Round i occupies slots alpha tau_i + 1 .. 2 alpha tau_i - 1, so rounds do
    not overlap. Guarantee: 4 alpha (Theorem 5), on assumptions that can fail; see `guarantees`. It
    terminates: let tau exceed the duration of the first unserved job with a single worker. This job
    then has a schedule of cost 0 in an empty window. The same holds for Algorithm 4's own
    placements.
    """
    placed: dict[str, Any] = {}
    waiting: list[ArrivedJob] = []  # A1 L1: J_i
    rounds: list[ServedRound] = []
    i, end = 0, 0
    while waiting or not arrivals.all_here():
        i += 1  # A1 L2
        tau = 2 ** (i - 1)  # tau_1 = tau_0 = 1: nothing can be served in round 1 (E10)
        waiting += arrivals.until(tau if settings.batch == "by" else tau - 1)  # A1 L3-L5 (E9)
        tell(log, "A1 L2", "round", round=i, time=tau, batch=ids_of(waiting))
        if min((job.shortest for job in waiting), default=math.inf) < tau:  # some job fits
            windows = a_dual(waiting, tau, settings, log=log)  # A1 L6
            base = max(tau, end) if settings.compact else settings.alpha * tau
            end = base + len(windows) * tau
            for iota, window in enumerate(windows):  # A1 L7
                for job, offer in window.served:
                    run = arrivals.start(offer, base + iota * tau)  # A1 L8-L9
                    place = settings.view.place(run.mode, run.start, run.workers, run.ps)
                    placed[job.job.id] = place
                    words = {"window": iota + 1, "job": job.job.id, **place.to_data()}
                    tell(log, "A1 L9", "start", time=tau, **words)
            rounds.append(ServedRound(i, tau, base, tuple(waiting), windows))
            waiting = [job for job in waiting if job.job.id not in placed]  # A1 L10
        tell(log, "A1 L10", "round_end", round=i, time=tau, left=ids_of(waiting))
    return ElasticSchedule(placed), rounds  # A1 L11


WeightBound = Callable[[ElasticInstance, ServedRound], float]
"""Upper bound on the weight that one window of a round could have served."""


def a_online(
    instance: ElasticInstance,
    *,
    events: bool = False,
    alpha: Alpha = 4,
    compact: Annotated[bool, "start a batch at once, as a-online-compact (ours)"] = False,
    batch: Batch = "by",
    lemma_1: Annotated[
        bool,
        "bound by dual prices what each round could have served, to see whether Lemma 1 holds",
    ] = True,
    placement: Rule = "exact",
    F: WeightRatio = None,
    F_factor: RatioFactor = 1.0,
    normalise: Normalise = True,
    order: Order = "arrival",
    tie: Tie = "order",
    modes_of: ModesOf | None = None,
    weight_bound: WeightBound | None = None,
) -> AlgorithmRun:
    """Serve jobs in batches at doubling times, by rising prices, in later windows.

    Parameters
    ----------
    instance : ElasticInstance
        A closed horizon is ignored.
    events : bool
        Return the events; see the module's description.
    alpha : int, "theory" or "theory-repaired"
        Windows of a round. The theorem's own value is in the hundreds at the paper's scale (E12);
        the repaired one closes a gap in Lemma 2 (E13).
    compact : bool
        Start a batch at once, not alpha tau later (ours).
    placement, order, tie
        As `rule`, `order` and `tie` of `a_maxweight.serve_batch`.
    F, F_factor, normalise
        As in `a_maxweight.constants`.
    batch : "by" or "before"
        Whether a round has the jobs that arrive by tau_i, as in the text, or before it (E9).
    modes_of : callable, optional
        Which modes a job may use; by default all of them.
    lemma_1 : bool
        Whether to call `weight_bound`.
    weight_bound : callable, optional
        instance, round -> an upper bound on the weight that one window of the round could have
        served. With it `lemma_1` may hold for rounds that did not serve all jobs that fit.

    Returns
    -------
    AlgorithmRun
        Its `trace`: `alpha`, `kappa`, `F`, `gamma`; `lemma_1`, whether it holds in each round; and
        `rounds`. A round has its batch, the jobs served in each window, and the alpha that (6)
        requires, by the text after Theorem 5. No schedule where some job can never run.

    Notes
    -----
    Source: Algorithms 1 and 2, line by line in `serve_rounds` and `a_dual`. T, F and kappa are
    computed from all jobs of the instance (Section 4.2).
    """
    arrivals = ElasticArrivals(instance, modes_of)
    if not all(arrived_job(instance, j, modes_of).modes for j in range(len(instance.jobs))):
        return AlgorithmRun(None)
    const = constants(instance, F=F, F_factor=F_factor, normalise=normalise, modes_of=modes_of)
    windows = alpha_of(alpha, instance, const)
    settings = OnlineSettings(
        cluster(instance), const, windows, placement, order, tie, compact, batch
    )
    log: Log | None = [] if events else None
    schedule, rounds = serve_rounds(arrivals, settings, log=log)
    upper = partial(weight_bound, instance) if weight_bound is not None and lemma_1 else None
    least, ratio = min(job.weight for job in instance.jobs), gamma(const)
    trace = {
        "alpha": windows,
        "kappa": const.kappa,
        "F": const.F,
        "gamma": ratio,
        "lemma_1": evaluate_lemma_1(rounds, windows, upper=upper),
        "rounds": [
            {
                "tau": one.tau,
                "base": one.base,
                "batch": ids_of(one.batch),
                "windows": [ids_of([job for job, _ in window.served]) for window in one.windows],
                "alpha_needed": windows_needed(
                    math.fsum(job.job.weight for job in one.batch), least, ratio
                ),
            }
            for one in rounds
        ],
    }
    return AlgorithmRun(schedule, tuple(log or ()), trace)


def lemma_1_of_run(instance: ElasticInstance, **options: Any) -> dict[str, object]:
    """Evaluate Lemma 1 on the run of A_online: did each round serve all that fits in a window?

    `options`: options of the run.

    `claim` in words; `factor` = 4 alpha; `holds`, whether the property is shown for all rounds;
    `failed`, the rounds for which it is not.
    """
    claim = "value <= 4 alpha optimum, if each round serves the best window's weight (Lemma 1)"
    trace = {} if instance.is_batch else a_online(instance, **options).trace
    if "lemma_1" not in trace:
        needs = "needs objective weighted_completion"
        why = needs if instance.is_batch else "some job can never run"
        return evaluated(claim, None, [f"not evaluated: {why}"])
    failed = [f"not shown for the round of tau = {tau}" for tau in trace["lemma_1"]["short"]]
    return evaluated(claim, 4.0 * trace["alpha"], failed)


def solve_a_online(instance: ElasticInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run `a_online` as a method; `options`: as for `a_online`."""
    run = a_online(instance, **options)
    return result_within_horizon(instance, run.schedule, run.trace)
