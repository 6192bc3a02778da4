"""The chains of a search, each in child processes with limits, and their state on disk."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from schedgap.analysis.studies.annealing import Chain
from schedgap.analysis.studies.targets import Target, engine_of
from schedgap.errors import InputError
from schedgap.instances.families import from_data
from schedgap.instances.records import Record, read_json, validate, write_json
from schedgap.solvers.children.processes import run_child

_PIECE, _PIECE_SECONDS = 50, 4.0  # evaluations and seconds of a chain between two reports
_HANG_SECONDS = 40.0  # a piece of a chain is killed after this time
_LATE_SECONDS = 10.0  # a child may exceed the time of the search by this
_SHRINK_EVALUATIONS = 3000
_STATE = "search.json"
KILLED = "a method was killed"


class _StoredState(Record):
    """The state of a search in a file."""

    target: dict[str, Any]
    chains: list[dict[str, Any]]
    seconds: Annotated[float, Field(ge=0)]


class State:
    """The chains of a search and the time they took; kept on disk if there is a folder.

    `target`: what is searched. `workers`: number of chains. `folder`: where the state is kept; a
    state that is there is continued.

    Raises
    ------
    InputError
        If the folder holds another search.
    """

    def __init__(self, target: Target, workers: int, folder: Path | None) -> None:
        self.target = target
        self.file = None if folder is None else folder / _STATE
        self.chains = [Chain.start(target.seed, worker) for worker in range(workers)]
        self.seconds = 0.0
        self._lock = threading.Lock()
        self._saved = -math.inf
        if self.file is not None and self.file.exists():
            self._load(self.file)

    def _load(self, file: Path) -> None:
        try:
            data = read_json(file)
            if not isinstance(data, dict) or {"target", "chains", "seconds"} - set(data):
                raise InputError("not the state of a search", file=str(file))
            if data["target"] != self.target.to_data():
                raise InputError("belongs to another search: use another folder", path="target")
            stored = validate(_StoredState, data)
            if len(stored.chains) != len(self.chains):
                raise InputError(
                    f"has {len(stored.chains)} workers, not {len(self.chains)}", path="chains"
                )
            chains = [Chain.from_data(chain) for chain in stored.chains]
            for shown in (state for chain in chains for state in (chain.current, chain.best)):
                if shown is not None and from_data(shown).family != self.target.family:
                    raise InputError("has an instance of another family", path="chains")
            self.chains, self.seconds = chains, stored.seconds
        except InputError as error:
            raise error.inside(str(file)) from None

    def put(self, worker: int, chain: Chain, seconds: float) -> None:
        """Store a chain; write all of them to disk at most once a second.

        `worker`: which one. `chain`: where it stands. `seconds`: that the search has taken so far.
        """
        with self._lock:
            self.chains[worker], self.seconds = chain, seconds
            if self.file is not None and time.monotonic() - self._saved > 1:
                self._saved = time.monotonic()
                self.save()

    def save(self) -> None:
        """Write the state to disk."""
        if self.file is not None:
            data = {
                "target": self.target.to_data(),
                "seconds": round(self.seconds, 3),
                "chains": [chain.to_data() for chain in self.chains],
            }
            write_json(self.file, data)

    @property
    def evaluations(self) -> int:
        """Instances evaluated by all chains."""
        return sum(chain.evaluations for chain in self.chains)

    @property
    def faults(self) -> list[str]:
        """Errors of methods, without repetitions."""
        return [*dict.fromkeys(text for chain in self.chains for text in chain.faults)]

    def best(self) -> tuple[dict[str, Any] | None, float]:
        """Return the data and the score of the best instance; the first worker's among equals."""
        chain = max(self.chains, key=lambda chain: chain.best_score)
        return chain.best, chain.best_score

    def first(self, enough: float) -> tuple[dict[str, Any] | None, float]:
        """Return the instance that reached a score after the fewest evaluations; or the best one.

        Unlike the best one, it does not depend on how far the other chains have come by then.
        """
        ended = [chain for chain in self.chains if chain.best_score >= enough]
        if not ended:
            return self.best()
        chain = min(ended, key=lambda chain: chain.reached(enough))
        return chain.best, chain.best_score

    def repeats(self, enough: float) -> int | None:
        """Return a number of evaluations after which a search finds `first` again.

        It is None if a chain was killed, or was stopped earlier, because the chain could then have
        found a better instance.
        """
        _, score = self.first(enough)
        count = min(
            chain.reached(min(score, enough)) for chain in self.chains if chain.best_score >= score
        )
        behind = any(chain.evaluations < count for chain in self.chains)
        killed = any(text.startswith(KILLED) for text in self.faults)
        return None if behind or killed or math.isinf(count) else int(count)

    def left(self, worker: int, evaluations: int | None, enough: float) -> int:
        """Return how many instances a chain may evaluate until its next report; 0 at its end.

        It ends at a score that is enough, or after as many evaluations as the first chain took to
        reach one.

        `worker`: which one. `evaluations`: most instances that each worker evaluates.
        """
        chain = self.chains[worker]
        if chain.best_score >= enough:
            return 0
        ends = [chain.reached(enough) for chain in self.chains if chain.best_score >= enough]
        most = min([*ends, math.inf if evaluations is None else evaluations])
        return max(0, int(min(_PIECE, most - chain.evaluations)))

    def curve(self) -> tuple[tuple[int, float], ...]:
        """Return the points at which the best score of all chains rose."""
        best, points = 0.0, []
        for count, score in sorted(point for chain in self.chains for point in chain.curve):
            if score > best:
                best = score
                points.append((count, score))
        return tuple(points)


def search(
    state: State,
    seconds: float,
    evaluations: int | None,
    enough: float,
    on_progress: Callable[[int, float], None] | None,
) -> None:
    """Advance all chains until the time or the evaluations are used up, or the score is enough.

    `seconds`: length of the search, an earlier run included. `evaluations`: most instances that
    each worker evaluates. `enough`: the search ends at this score. `on_progress`: called with
    (evaluations, best score).
    """
    begun, before = time.monotonic(), state.seconds
    interrupt = threading.Event()

    def spent() -> float:
        return before + time.monotonic() - begun

    def work(worker: int) -> None:
        while not interrupt.is_set():
            chain = state.chains[worker]
            count, left = state.left(worker, evaluations, enough), seconds - spent()
            if count == 0 or left <= 0:
                return
            chain = _piece(state.target, chain, count, left, enough, interrupt)
            state.put(worker, chain, spent())
            if on_progress is not None:
                on_progress(state.evaluations, state.best()[1])

    try:
        with ThreadPoolExecutor(len(state.chains)) as pool:
            tasks = [pool.submit(work, worker) for worker in range(len(state.chains))]
            try:
                for task in as_completed(tasks):
                    task.result()
            except BaseException:
                interrupt.set()
                raise
    finally:
        state.seconds = spent()
        state.save()


def _piece(
    target: Target,
    chain: Chain,
    evaluations: int,
    seconds: float,
    enough: float,
    interrupt: threading.Event,
) -> Chain:
    """Advance one chain in a child process; if it is killed, it starts again."""
    best: list[tuple[float, dict[str, Any], int]] = []
    reply = run_child(
        "schedgap.analysis.studies.annealing:advance",
        target,
        chain,
        evaluations,
        min(seconds, _PIECE_SECONDS),
        enough,
        time.time(),
        limit=min(_HANG_SECONDS, seconds + _LATE_SECONDS),
        on_message=best.append,
        engine=engine_of(target),
        interrupt=interrupt,
    )
    if reply.outcome == "done":
        advanced: Chain = reply.value
        return advanced
    if reply.outcome == "error":
        reply.result()
    chain.interrupted(f"{KILLED} ({reply.outcome})", best)
    return chain


def shrunk(
    target: Target, data: dict[str, Any], floor: float, seconds: float
) -> tuple[dict[str, Any], int]:
    """Return a smaller instance of at least the same score, and the number of evaluations.

    `target`: what was searched. `data`: JSON data of the instance. `seconds`: of shrinking.
    """
    smaller: list[dict[str, Any]] = []
    reply = run_child(
        "schedgap.analysis.studies.shrinking:shrink",
        target,
        data,
        floor,
        _SHRINK_EVALUATIONS,
        seconds,
        limit=None if math.isinf(seconds) else seconds + _LATE_SECONDS,
        on_message=smaller.append,
        engine=engine_of(target),
    )
    if reply.outcome == "error":
        reply.result()
    if reply.outcome != "done":
        return (smaller[-1] if smaller else data), len(smaller)
    found: tuple[dict[str, Any], int] = reply.value
    return found
