"""The steps of SJF-BCO: rates under contention, its search, and the bound that refutes limits."""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.models.mechanisms.knapsack import best_subset as best_subset
    from schedgap.models.ring.algorithms.sjf_bco import search_runs as search_runs
    from schedgap.models.ring.algorithms.sjf_bco import sjf_bco as sjf_bco
    from schedgap.models.ring.bounds.pattern_lp import Refutation as Refutation
    from schedgap.models.ring.bounds.pattern_lp import refutes as refutes
    from schedgap.models.ring.bounds.pattern_lp import server_classes as server_classes
    from schedgap.models.ring.rates import rate_table as rate_table
    from schedgap.models.ring.simulator import simulate as simulate
else:
    __getattr__, __dir__ = lazy.attributes(__name__)
