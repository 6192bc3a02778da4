"""The steps of A_online and A_maxsche: modes of jobs and the scale of prices."""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.models.edge.algorithms.a_maxsche import a_maxsche as a_maxsche
    from schedgap.models.edge.algorithms.a_online import a_online as a_online
    from schedgap.models.edge.algorithms.prices import price_scale as price_scale
    from schedgap.models.edge.modes import all_modes as all_modes

_PUBLIC = {  # name -> "module" or "module:attribute", imported on first use
    "a_maxsche": "schedgap.models.edge.algorithms.a_maxsche",
    "a_online": "schedgap.models.edge.algorithms.a_online",
    "all_modes": "schedgap.models.edge.modes",
    "price_scale": "schedgap.models.edge.algorithms.prices",
}

__all__ = [
    "a_maxsche",
    "a_online",
    "all_modes",
    "price_scale",
]

__getattr__, __dir__ = lazy.attributes(__name__, _PUBLIC)
