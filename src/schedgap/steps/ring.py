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

_PUBLIC = {  # name -> "module" or "module:attribute", imported on first use
    "Refutation": "schedgap.models.ring.bounds.pattern_lp",
    "best_subset": "schedgap.models.mechanisms.knapsack",
    "rate_table": "schedgap.models.ring.rates",
    "refutes": "schedgap.models.ring.bounds.pattern_lp",
    "search_runs": "schedgap.models.ring.algorithms.sjf_bco",
    "server_classes": "schedgap.models.ring.bounds.pattern_lp",
    "simulate": "schedgap.models.ring.simulator",
    "sjf_bco": "schedgap.models.ring.algorithms.sjf_bco",
}

__all__ = [
    "Refutation",
    "best_subset",
    "rate_table",
    "refutes",
    "search_runs",
    "server_classes",
    "simulate",
    "sjf_bco",
]

__getattr__, __dir__ = lazy.attributes(__name__, _PUBLIC)
