"""The steps of Hare: middles of tasks, Algorithm 1, and switching times by replay."""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.models.hare.algorithms.algorithm_1 import algorithm_1 as algorithm_1
    from schedgap.models.hare.algorithms.algorithm_1 import middles as middles
    from schedgap.models.hare.algorithms.algorithm_1 import monotone_middles as monotone_middles
    from schedgap.models.hare.algorithms.guarantees import alpha as alpha
    from schedgap.models.hare.algorithms.guarantees import lemma_report as lemma_report
    from schedgap.models.hare.algorithms.list_wspt import list_wspt as list_wspt
    from schedgap.models.hare.algorithms.list_wspt import smith_ratio as smith_ratio
    from schedgap.models.hare.replay import replay as replay
else:
    __getattr__, __dir__ = lazy.attributes(__name__)
