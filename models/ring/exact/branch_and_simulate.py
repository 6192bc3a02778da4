"""Method `branch-simulate`: the complete search of `proof.py`, repeated below each schedule found.

References
----------
E. Demeulemeester, W. Herroelen, "A branch-and-bound procedure for the multiple resource-constrained
project scheduling problem", Management Science 38 (1992): branching in time, dominance by left
shifts and by earlier partial schedules.
"""

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring import proof
from schedgap.models.ring.heuristics.initial import initial_state, settled_result
from schedgap.solvers.proofs.checker import RefusedError


def branch_simulate(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `branch-simulate` from the best list schedule."""
    state = initial_state(instance, call)
    if end := settled_result(instance, state):
        return end
    call.progress.phase("searching from slot to slot")
    states = 0
    while not state.closed:
        goal = proof.goal(instance, state.upper)
        try:
            found = proof.search(instance, goal, seconds=call.clock.remaining())
        except RefusedError as error:
            return state.outcome(f"too large: {error.why}")
        states += found.states
        if found.better is not None:
            state.incumbent(RingSchedule.from_data(instance, found.better))
        elif not found.complete:
            break
        elif state.upper is None:
            state.infeasible = True
        else:
            state.proofs.append("complete search")
            state.bound(state.upper)
    state.trace["states"] = states
    return state.outcome()
