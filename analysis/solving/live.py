"""Progress of `solve` and `compare` below the cell of a notebook; nothing in a script.

In Jupyter, a line of HTML is updated in place. Without a kernel, as in a script, a terminal or a
child process, nothing is displayed. The command line shows its own progress.
"""

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedgap.analysis.records.folder import TaskRecord
    from schedgap.analysis.runners.run import OnMessage

EVERY = 0.1  # seconds between two updates


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None


class Bar:
    """A bar with a text behind it, displayed at once.

    `text`: any text. `done`, `total`: as for `update`.
    """

    def __init__(self, text: str, done: int = 0, total: int | None = None) -> None:
        from IPython.display import display

        self._begin = self._last = time.monotonic()
        self._handle = display(self._data(text, done, total), raw=True, display_id=True)

    def _data(self, text: str, done: int, total: int | None) -> dict[str, str]:
        share = "" if total is None else f' value="{done}" max="{max(total, 1)}"'
        count = "" if total is None else f"{done}/{total} tasks, "
        line = f"{count}{text}, {time.monotonic() - self._begin:.1f} s"
        return {
            "text/html": f"<progress{share}></progress> <small>{html.escape(line)}</small>",
            "text/plain": line,
        }

    def update(self, text: str, done: int = 0, total: int | None = None) -> None:
        """Show another state; the last of many in a short time may be left out.

        `text`: any text. `done`, `total`: numbers of tasks; without a total, the bar only says that
        something runs.
        """
        now = time.monotonic()
        if now - self._last >= EVERY or done == total:
            self._last = now
            self._handle.update(self._data(text, done, total), raw=True)

    def remove(self) -> None:
        """Show nothing in its place."""
        self._handle.update({"text/html": "", "text/plain": ""}, raw=True)


@contextmanager
def solving(title: str, given: "OnMessage | None") -> "Iterator[OnMessage | None]":
    """Show phase, incumbent and bound while a method runs, and nothing afterwards.

    Yields the callback for the run: the given one, if there is one.

    `title`: method and instance. `given`: the caller's own callback, which gets all messages; then
    nothing is shown.
    """
    if given is not None or not in_notebook():
        yield given
        return
    bar, latest = Bar(title), dict[str, str]()

    def receive(message: tuple[Any, ...]) -> None:
        kind, _, value = message[:3]
        latest[kind] = str(value) if kind == "phase" else f"{kind} {value:.6g}"
        facts = [latest[key] for key in ("phase", "incumbent", "bound") if key in latest]
        bar.update(f"{title}: {', '.join(facts)}")

    try:
        yield receive
    finally:
        bar.remove()


class Comparison:
    """Callback of a comparison: finished tasks, and the one that was finished last."""

    def __init__(self) -> None:
        self.bar: Bar | None = None

    def __call__(self, record: "TaskRecord | None", done: int, total: int) -> None:
        """Show a new state.

        `record`: the new record; None before the first task. `done`, `total`: numbers of tasks.
        """
        text = "starting" if record is None else f"{record.label} on {record.instance.name}"
        if done == total:
            text = "all finished"
        if self.bar is None:
            self.bar = Bar(text, done, total)
        else:
            self.bar.update(text, done, total)
