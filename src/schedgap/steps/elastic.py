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
    from schedgap.models.elastic.algorithms.theorem_1 import study
    from schedgap.models.elastic.modes import modes as modes
    from schedgap.models.elastic.placement import ModeDemand as ModeDemand

    theorem_1_study = study
else:
    __getattr__, __dir__ = lazy.attributes(__name__)
