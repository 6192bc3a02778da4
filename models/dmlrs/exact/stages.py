"""The stages of `exact` that need an engine: patterns here, the others in a child process each."""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.certificate_data import item_price_certificate
from schedgap.models.dmlrs.bounds.machine_patterns import generate_patterns
from schedgap.models.dmlrs.bounds.solve_relaxations import report_bound
from schedgap.models.dmlrs.exact.logic_based_benders import benders_stage, final_bound
from schedgap.models.dmlrs.exact.prove import prove_goal
from schedgap.models.method import Budget
from schedgap.models.refute import refute
from schedgap.models.search_state import SearchState
from schedgap.solvers.engines.availability import is_installed

BENDERS_SHARE, PROOF_SHARE = 0.7, 0.95  # fractions of the time left


def decide_by_packing(instance: DmlrsInstance, state: SearchState) -> bool:
    """Look for better schedules by CP-SAT, or else by HiGHS; return whether there are none left.

    Trees then prove it.
    """
    state.phase("slots packed in turn")
    engine = "cp-sat" if is_installed("cp-sat") else "highs"
    state.child(
        "benders",
        benders_stage,
        instance,
        state.upper,
        master=engine,
        share=BENDERS_SHARE,
        budget=state.call.budget,
        engine=engine,
    )
    if "benders" not in state.proofs:
        return False
    refute_utilities(instance, state, state.call.budget.share(PROOF_SHARE))
    return True


def bound_by_patterns(
    instance: DmlrsInstance, state: SearchState, prices: Floats, budget: Budget
) -> None:
    """Report bounds by prices of items, which start from `prices` [t, r] of the resources."""

    def on_bound(bound: float, items: Floats) -> None:
        report_bound(state, instance, bound, item_price_certificate(items))

    state.phase("generating patterns")
    generate_patterns(instance, prices, budget=budget, on_bound=on_bound)


def refute_utilities(
    instance: DmlrsInstance, state: SearchState, budget: Budget, *, step: float = 1.0
) -> bool:
    """Refute better utilities over the program of the proof; return whether none is left.

    `step`: as for `refute_stage`.
    """
    if not refute(
        state, instance, prove_goal, budget, lower=state.certified, sense=-1, grid=0.0, step=step
    ):
        return False
    assert state.upper is not None
    state.bound(final_bound(instance, state.upper))
    return True
