"""The steps of A_online: modes, batches with prices, splits over servers, Theorem 1."""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.models.elastic.algorithms.a_maxweight import a_maxweight as a_maxweight
    from schedgap.models.elastic.algorithms.a_maxweight import batch_of as batch_of
    from schedgap.models.elastic.algorithms.a_maxweight import constants as constants
    from schedgap.models.elastic.algorithms.a_maxweight import serve_batch as serve_batch
    from schedgap.models.elastic.algorithms.a_online import a_online as a_online
    from schedgap.models.elastic.algorithms.pricing import cheapest_schedule as cheapest_schedule
    from schedgap.models.elastic.algorithms.subroutines import best_split as best_split
    from schedgap.models.elastic.algorithms.subroutines import greedy_split as greedy_split
    from schedgap.models.elastic.algorithms.theorem_1 import study as theorem_1_study
    from schedgap.models.elastic.algorithms.theorem_1 import table as theorem_1_table
    from schedgap.models.elastic.modes import modes as modes
    from schedgap.models.elastic.placement import ModeDemand as ModeDemand

_PUBLIC = {  # name -> "module" or "module:attribute", imported on first use
    "ModeDemand": "schedgap.models.elastic.placement",
    "a_maxweight": "schedgap.models.elastic.algorithms.a_maxweight",
    "a_online": "schedgap.models.elastic.algorithms.a_online",
    "batch_of": "schedgap.models.elastic.algorithms.a_maxweight",
    "best_split": "schedgap.models.elastic.algorithms.subroutines",
    "cheapest_schedule": "schedgap.models.elastic.algorithms.pricing",
    "constants": "schedgap.models.elastic.algorithms.a_maxweight",
    "greedy_split": "schedgap.models.elastic.algorithms.subroutines",
    "modes": "schedgap.models.elastic.modes",
    "serve_batch": "schedgap.models.elastic.algorithms.a_maxweight",
    "theorem_1_study": "schedgap.models.elastic.algorithms.theorem_1:study",
    "theorem_1_table": "schedgap.models.elastic.algorithms.theorem_1:table",
}

__all__ = [
    "ModeDemand",
    "a_maxweight",
    "a_online",
    "batch_of",
    "best_split",
    "cheapest_schedule",
    "constants",
    "greedy_split",
    "modes",
    "serve_batch",
    "theorem_1_study",
    "theorem_1_table",
]

__getattr__, __dir__ = lazy.attributes(__name__, _PUBLIC)
