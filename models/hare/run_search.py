"""Our search at any scale: `local-search`."""

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.heuristics.search import local_search
from schedgap.models.method import Call, Method, Option, Outcome

MOVES_WITHOUT_LIMIT = 2000  # neither moves nor a time limit were given


def run_local_search(instance: HareInstance, call: Call) -> Outcome:
    """Run `local-search`."""
    moves = call.options["moves"]
    if moves is None and call.clock.limit is None:
        moves = MOVES_WITHOUT_LIMIT
    call.progress.phase("searching")
    schedule = local_search(
        instance,
        clock=call.clock,
        seed=call.seed,
        moves=moves,
        gpu_rule=call.options["gpu_rule"],
        on_improvement=call.progress.incumbent,
    )
    return Outcome(schedule)


METHODS = (
    Method(
        name="local-search",
        kind="algorithm",
        run=run_local_search,
        summary="iterated local search over the order in which rounds move into free time",
        source="ours",
        ours=True,
        options=(
            Option(
                "gpu_rule", "choice", "finish",
                "prefer the GPU time in which a task is synchronized first, or that is free first",
                choices=("finish", "available"),
            ),
            Option(
                "moves", "int", None,
                f"plans to try (default: {MOVES_WITHOUT_LIMIT}; with a time limit, until it is up "
                "or a hundred kicks were in vain)",
                least=0,
            ),
        ),
        seeded=True,
    ),
)  # fmt: skip
