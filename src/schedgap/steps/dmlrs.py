"""The steps of PD-ORS: prices, options in a slot, the dynamic program, randomized rounding."""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.instances.dmlrs.compiled import arrays as arrays
    from schedgap.models.dmlrs.algorithms.best_schedule import PricedCluster as PricedCluster
    from schedgap.models.dmlrs.algorithms.dynamic_program import exact as dynamic_program
    from schedgap.models.dmlrs.algorithms.dynamic_program import on_grid as dynamic_program_on_grid
    from schedgap.models.dmlrs.algorithms.dynamic_program import (
        on_grid_up as dynamic_program_rounded_up,
    )
    from schedgap.models.dmlrs.algorithms.guarantees import competitive as competitive
    from schedgap.models.dmlrs.algorithms.guarantees import rounding as rounding
    from schedgap.models.dmlrs.algorithms.guarantees import rounding_odds as rounding_odds
    from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors as pd_ors
    from schedgap.models.dmlrs.algorithms.prices import final_prices as final_prices
    from schedgap.models.dmlrs.algorithms.slot_placements import external_greedy as external_greedy
    from schedgap.models.dmlrs.algorithms.slot_placements import internal as internal
    from schedgap.models.dmlrs.slot_options import job_at_arrival as job_at_arrival

_PUBLIC = {  # name -> "module" or "module:attribute", imported on first use
    "PricedCluster": "schedgap.models.dmlrs.algorithms.best_schedule",
    "arrays": "schedgap.instances.dmlrs.compiled",
    "competitive": "schedgap.models.dmlrs.algorithms.guarantees",
    "dynamic_program": "schedgap.models.dmlrs.algorithms.dynamic_program:exact",
    "dynamic_program_on_grid": "schedgap.models.dmlrs.algorithms.dynamic_program:on_grid",
    "dynamic_program_rounded_up": "schedgap.models.dmlrs.algorithms.dynamic_program:on_grid_up",
    "external_greedy": "schedgap.models.dmlrs.algorithms.slot_placements",
    "final_prices": "schedgap.models.dmlrs.algorithms.prices",
    "internal": "schedgap.models.dmlrs.algorithms.slot_placements",
    "job_at_arrival": "schedgap.models.dmlrs.slot_options",
    "pd_ors": "schedgap.models.dmlrs.algorithms.pd_ors",
    "rounding": "schedgap.models.dmlrs.algorithms.guarantees",
    "rounding_odds": "schedgap.models.dmlrs.algorithms.guarantees",
}

__all__ = [
    "PricedCluster",
    "arrays",
    "competitive",
    "dynamic_program",
    "dynamic_program_on_grid",
    "dynamic_program_rounded_up",
    "external_greedy",
    "final_prices",
    "internal",
    "job_at_arrival",
    "pd_ors",
    "rounding",
    "rounding_odds",
]

__getattr__, __dir__ = lazy.attributes(__name__, _PUBLIC)
