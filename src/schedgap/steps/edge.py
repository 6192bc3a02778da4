"""The steps of A_online and A_maxsche: modes of jobs and the scale of prices."""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.models.edge.algorithms.a_maxsche import a_maxsche as a_maxsche
    from schedgap.models.edge.algorithms.a_online import a_online as a_online
    from schedgap.models.edge.algorithms.prices import price_scale as price_scale
    from schedgap.models.edge.modes import all_modes as all_modes
else:
    __getattr__, __dir__ = lazy.attributes(__name__)
