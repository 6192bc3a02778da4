"""The paper's algorithms as methods: `a-online` with its variants, and `a-maxsche`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge import program_cp_sat
from schedgap.models.edge.algorithm import Arrivals, OnlineRun, a_online, run_online
from schedgap.models.edge.batch import (
    VARIANTS,
    Arrived,
    Network,
    Served,
    Variant,
    a_maxsche,
    arrived,
)
from schedgap.models.edge.guarantees import dual_value, exact_batches
from schedgap.models.edge.outcomes import deliver
from schedgap.models.edge.problem import no_batches, no_schedule, only_batches
from schedgap.models.method import Call, Method, Outcome
from schedgap.solvers import solve

# Jobs times servers of a round: of more the model would be built for minutes, and each takes time.
_MOST_CELLS, _SECONDS_A_CELL = 200_000, 2e-4


def _deliver(instance: EdgeInstance, run: OnlineRun, trace: dict[str, Any]) -> Outcome:
    """Return the schedule if it is whole, else what there is of it; with the rounds."""
    return deliver(instance, run.schedule, {**trace, "rounds": run.trace()})


def _online(variant: Variant, instance: EdgeInstance, call: Call) -> Outcome:
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    return _deliver(instance, run_online(instance, variant), {})


def exact_batch(instance: EdgeInstance, call: Call) -> Outcome:
    """Run A_online with every batch solved by CP-SAT, each in an equal share of the time left."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    variant = VARIANTS["a-online-any"]
    network = Network.of(instance, variant)
    last = (instance.horizon - 1).bit_length()  # of the rounds

    def serve(batch: Sequence[Arrived], tau: int) -> Served:
        greedy, _ = a_maxsche(network, batch, tau, variant)
        if len(greedy.placements) == len(batch):
            return Served(greedy.placements, {"proved": True})
        number = tau.bit_length()
        call.progress.phase(f"round {number}, {len(batch)} jobs")
        share = call.clock.share(1 / (last - number + 1))
        cells = len(batch) * len(instance.servers)
        if cells > min(_MOST_CELLS, share.remaining() / _SECONDS_A_CELL):
            return Served(greedy.placements, {"proved": False})
        jobs = [each.job.model_dump(exclude_unset=True) for each in batch]
        whole = instance.to_data() | {"jobs": jobs, "batch_round": number}
        one = EdgeInstance.from_data(whole)
        model = program_cp_sat.build(one)
        result = solve(
            model,
            "cp-sat",
            clock=share,
            threads=call.threads,
            seed=call.seed,
            grid=1,
            start=program_cp_sat.hints(model, one, EdgeSchedule(greedy.placements)),
        )
        note = {"proved": result.status == "optimal", "bound": result.bound}
        if result.values is None or (result.objective or 0) <= len(greedy.placements):
            return Served(greedy.placements, note)
        better = program_cp_sat.read(model, result.values, one).placements
        return Served(
            {name: run for name, run in better.items() if isinstance(run, Placement)}, note
        )

    run = a_online(Arrivals(instance), instance.horizon, serve)
    proved = all(each.served.note["proved"] for each in run.rounds)
    trace: dict[str, Any] = {"proved": proved}
    if proved:
        trace["guarantee"] = exact_batches(instance)["claim"]
    return _deliver(instance, run, trace)


def run_a_maxsche(instance: EdgeInstance, call: Call) -> Outcome:
    """Run `a-maxsche` on a batch."""
    variant = VARIANTS["a-online"]
    able = [j for j, job in enumerate(instance.jobs) if instance.may_run(job)]
    able.sort(key=lambda j: instance.jobs[j].arrival)
    tau = instance.window[0] - 1
    batch = [arrived(instance, j) for j in able]
    served, market = a_maxsche(Network.of(instance, variant), batch, tau, variant)
    trace = {"dual_value": dual_value(instance, market), "jobs": len(batch)}
    return Outcome(EdgeSchedule(served.placements), trace=trace)


def _variant(name: str, summary: str, *, ours: bool = True) -> Method:
    run: Callable[[EdgeInstance, Call], Outcome] = partial(_online, VARIANTS[name])
    return Method(
        name,
        "algorithm",
        run,
        summary + "; no guarantee",
        "Algorithms 1-4",
        ours=ours,
        online=True,
        refuses=no_batches,
    )


METHODS: tuple[Method, ...] = (
    _variant(
        "a-online",
        "batches at doubling times, let in by rising prices with the fewest workers",
        ours=False,
    ),
    _variant("a-online-printed", "a-online with Algorithm 4 as printed", ours=False),
    _variant("a-online-model", "a-online with servers that are ready when a round starts"),
    _variant("a-online-earliest", "a-online, of equal costs the earliest end"),
    _variant("a-online-any", "a-online with any start in a round, of equal costs the earliest end"),
    _variant("a-online-no-price", "a-online by capacity alone, the earliest end"),
    Method(
        "a-online-exact-batch",
        "algorithm",
        exact_batch,
        "A_online with most jobs in every batch, proved; sum c_j within 4 times the optimum's",
        "Algorithm 1, (3)",
        ours=True,
        engines=("cp-sat",),
        online=True,
        seeded=True,
        refuses=no_batches,
    ),
    Method(
        "a-maxsche",
        "algorithm",
        run_a_maxsche,
        "of a batch, run the jobs whose cheapest schedule costs less than 1; no guarantee",
        "Algorithms 2-4",
        refuses=only_batches,
    ),
)
