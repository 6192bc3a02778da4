"""Exercises with a checker, and replays of algorithms, for lessons.

`exercises()` lists the exercises of the notebooks. `check` reports whether an answer is right, and
if not, why. `replay` shows what an algorithm did, event by event.

>>> from schedgap import teach
>>> teach.check("ring-1", 8)
"""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from schedgap.teach.answers import Feedback as Feedback
    from schedgap.teach.problems import check as check
    from schedgap.teach.problems import exercises as exercises
    from schedgap.teach.replays import Replay as Replay
    from schedgap.teach.replays import replay as replay
else:
    __getattr__, __dir__ = lazy.attributes(__name__)
