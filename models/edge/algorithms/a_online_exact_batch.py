"""A_online with every batch solved to proof (ours): what then can be guaranteed is G2."""

from collections.abc import Sequence
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.algorithms.a_maxsche import (
    VARIANTS,
    Arrived,
    Network,
    Served,
    serve_round,
)
from schedgap.models.edge.algorithms.a_online import Arrivals, run_rounds
from schedgap.models.edge.algorithms.guarantees import exact_batches
from schedgap.models.edge.algorithms.unplaced import deliver
from schedgap.models.edge.decisions import no_schedule
from schedgap.models.edge.programs import intervals
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve

# Jobs times servers of a round: of more the model would be built for minutes, and each takes time.
_MOST_CELLS, _SECONDS_A_CELL = 200_000, 2e-4


def a_online_exact_batch(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run A_online with every batch solved by CP-SAT, each in an equal share of the time left."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    variant = VARIANTS["a-online-any"]
    network = Network.of(instance, variant)
    last = (instance.horizon - 1).bit_length()  # of the rounds

    def serve(batch: Sequence[Arrived], tau: int) -> Served:
        greedy, _ = serve_round(network, batch, tau, variant)
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
        model = intervals.build(one)
        result = solve(
            model,
            "cp-sat",
            clock=share,
            threads=call.threads,
            seed=call.seed,
            grid=1,
            start=intervals.start(model, one, EdgeSchedule(greedy.placements)),
        )
        note = {"proved": result.status == "optimal", "bound": result.bound}
        if result.values is None or (result.objective or 0) <= len(greedy.placements):
            return Served(greedy.placements, note)
        better = intervals.read(model, one, result.values).placements
        return Served(
            {name: run for name, run in better.items() if isinstance(run, Placement)}, note
        )

    run = run_rounds(Arrivals(instance), instance.horizon, serve)
    proved = all(each.served.note["proved"] for each in run.rounds)
    trace: dict[str, Any] = {"proved": proved}
    if proved:
        trace["guarantee"] = exact_batches(instance)["claim"]
    return deliver(instance, run.schedule, {**trace, "rounds": run.trace()})
