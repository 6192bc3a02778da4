"""The steps of PD-ORS: prices, options in a slot, the dynamic program, randomized rounding."""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.instances.dmlrs.compiled import arrays as arrays
    from schedgap.models.dmlrs.algorithms.best_schedule import PricedCluster as PricedCluster
    from schedgap.models.dmlrs.algorithms.dynamic_program import exact, on_grid, on_grid_up
    from schedgap.models.dmlrs.algorithms.guarantees import competitive as competitive
    from schedgap.models.dmlrs.algorithms.guarantees import rounding as rounding
    from schedgap.models.dmlrs.algorithms.guarantees import rounding_odds as rounding_odds
    from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors as pd_ors
    from schedgap.models.dmlrs.algorithms.prices import final_prices as final_prices
    from schedgap.models.dmlrs.algorithms.slot_placements import external_greedy as external_greedy
    from schedgap.models.dmlrs.algorithms.slot_placements import internal as internal
    from schedgap.models.dmlrs.slot_options import job_at_arrival as job_at_arrival

    dynamic_program = exact
    dynamic_program_on_grid = on_grid
    dynamic_program_rounded_up = on_grid_up
else:
    __getattr__, __dir__ = lazy.attributes(__name__)
