"""SJF-BCO as a method: its schedule, its runs, and what is proved of them."""

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.algorithms.guarantees import facts
from schedgap.models.ring.algorithms.limit_search import deliver_search, reporter
from schedgap.models.ring.algorithms.sjf_bco import sjf_bco
from schedgap.models.ring.rates import rate_table, refuted


def run_sjf_bco(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `sjf-bco`."""
    if proof := refuted(instance):
        return proof
    options, table = call.options, rate_table(instance)
    found = sjf_bco(
        table,
        bisection=options["bisection"],
        kappa=None if options["kappa"] == "all" else options["kappa"],
        pack_shared=options["ffp_rule"] == "pack",
        by_server=options["lbsgf_rule"] == "list",
        clock=options["clock"],
        stop=call.clock.expired,
        on_better=reporter(instance, call),
    )
    proved = facts(table, found.attempts) if options["clock"] == "actual" else {}
    return deliver_search(instance, found, proved)
