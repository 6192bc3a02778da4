"""A_online with every batch solved to proved optimality; guarantee G2 applies. Not in the paper."""

from collections.abc import Sequence

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.algorithms.a_maxsche import (
    VARIANTS,
    Network,
    RevealedJob,
    RoundPlacements,
    serve_round,
)
from schedgap.models.edge.algorithms.a_online import JobStream, run_rounds
from schedgap.models.edge.algorithms.guarantees import exact_batches
from schedgap.models.edge.algorithms.unplaced import complete_or_partial
from schedgap.models.edge.programs import intervals
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve

# Jobs x servers of a round: larger models take minutes to build, and each cell takes some time.
_MAX_CELLS, _SECONDS_PER_CELL = 200_000, 2e-4


def a_online_exact_batch(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run A_online with CP-SAT for every batch, each in an equal share of the remaining time."""
    variant = VARIANTS["a-online-any"]
    network = Network.of(instance, variant)
    rounds = (instance.horizon - 1).bit_length()

    def serve(batch: Sequence[RevealedJob], tau: int) -> RoundPlacements:
        greedy, _ = serve_round(network, batch, tau, variant)
        if len(greedy.placements) == len(batch):
            return RoundPlacements(greedy.placements, {"proved": True})
        number = tau.bit_length()
        call.progress.phase(f"round {number}, {len(batch)} jobs")
        share = call.clock.share(1 / (rounds - number + 1))
        cells = len(batch) * len(instance.servers)
        if cells > min(_MAX_CELLS, share.remaining() / _SECONDS_PER_CELL):
            return RoundPlacements(greedy.placements, {"proved": False})
        jobs = [job.data.model_dump(exclude_unset=True) for job in batch]
        data = instance.to_data() | {"jobs": jobs, "batch_round": number}
        round_instance = EdgeInstance.from_data(data)
        model = intervals.build(round_instance)
        result = solve(
            model,
            "cp-sat",
            clock=share,
            threads=call.threads,
            seed=call.seed,
            grid=1,
            start=intervals.start(model, round_instance, EdgeSchedule(greedy.placements)),
        )
        note = {"proved": result.status == "optimal", "bound": result.bound}
        if result.values is None or (result.objective or 0) <= len(greedy.placements):
            return RoundPlacements(greedy.placements, note)
        better = intervals.read(model, round_instance, result.values).placements
        return RoundPlacements(
            {name: run for name, run in better.items() if isinstance(run, Placement)}, note
        )

    run = run_rounds(JobStream(instance), instance.horizon, serve)
    proved = all(planned.accepted.note["proved"] for planned in run.rounds)
    trace: dict[str, object] = {"proved": proved}
    if proved:
        trace["guarantee"] = exact_batches(instance)["claim"]
    return complete_or_partial(instance, run.schedule, {**trace, "rounds": run.rounds_data()})
