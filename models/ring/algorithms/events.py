"""What a run of SJF-BCO did, step by step: its events, as plain data that JSON can hold.

Each event is a dict with `line`, the line of the pseudocode, `event`, its name, and the keys below.
Times are slots from 1, theta (the limit on loads) and loads are slots of estimated work, GPUs are
numbers from 0 by server id. Jobs and servers go by their ids.

| event | line | keys |
| --- | --- | --- |
| `order` | A1 L3 | `jobs`: in the order in which every run dispatches them |
| `limit` | A1 L6 | `theta`; `left`, `right`: the limits that are not ruled out yet |
| `run` | A1 L7 | `theta`, `kappa`: a run of all jobs begins in slot 1, all loads are 0 |
| `repeat` | A1 L7 | `theta`, `kappa`, `like`: the run is that of the limit `like`, step by step |
| `place` | A2 L4, A3 L7 | `time`, `job`, `gpus`; `load`: what each of its GPUs is given, \
`most`: the largest load of them then |
| `wait` | A2 L8, A3 L11 | `time`, `job`; `until`: when it is looked at again, `exited`: the jobs \
that left; no job, and `until` is None, where none will leave in time |
| `fail` | A1 L14 | `theta`, `kappa`, `job`: the one that found no place; None where all did, and \
some job ends after the horizon |
| `finish` | A1 L17 | `theta`, `kappa`, `starts`, `ends`: slots by job, `makespan`, `load`: the \
largest of all loads |
| `improve` | A1 L20 | `theta`, `kappa`, `makespan`, `before`: the best makespan so far, or None |
| `lower` | A1 L21 | `right`: the largest limit that is left |
| `raise` | A1 L23 | `left`: the least limit that is left |
| `stop` | A1 L7 | `theta`, `kappa`: time is up before this run |
| `answer` | A1 L24 | `theta`, `kappa`, `makespan` of the run that is returned; all \
None where there is none, then `reason` says why |

With the clock `estimated`, `time`, `until` and `exited` are reckoned from estimates; `starts` and
`ends` are what the plan leads to. With the clock `actual`, `time` of a job's `place` is its start.
"""

from typing import Any

from schedgap.models.ring.dispatch import Cluster, Ints, Trial, gpus_by_server
from schedgap.models.ring.rates import RateTable


class Journal:
    """The events of one run of SJF-BCO, in order; it is told each step as it is made."""

    def __init__(self, table: RateTable) -> None:
        self.events: list[dict[str, Any]] = []
        self._table = table
        self._jobs = [job.id for job in table.instance.jobs]
        self._run: dict[str, int | None] = {}  # theta and kappa of the present run
        self._kappa: int | None = None
        self._stuck: int | None = None  # the job that no other will make room for
        self._limits: dict[Trial, int] = {}  # the limit at which each was made

    def _note(self, line: str, event: str, **keys: Any) -> None:
        self.events.append({"line": line, "event": event, **keys})

    def order(self, jobs: list[int]) -> None:
        """Note the order of the jobs."""
        self._note("A1 L3", "order", jobs=[self._jobs[j] for j in jobs])

    def limit(self, theta: int, left: int, right: int) -> None:
        """Note that a limit is tried."""
        self._note("A1 L6", "limit", theta=theta, left=left, right=right)

    def run(self, theta: int, kappa: int | None) -> None:
        """Note that the dispatcher begins."""
        self._run, self._kappa, self._stuck = {"theta": theta, "kappa": kappa}, kappa, None
        self._note("A1 L7", "run", **self._run)

    def repeat(self, theta: int, kappa: int | None, trial: Trial) -> None:
        """Note that a run would be one that is known."""
        like = self._limits[trial]
        self._note("A1 L7", "repeat", theta=theta, kappa=kappa, like=like)

    def placed(self, job: int, slot: int, gpus: Ints, cluster: Cluster) -> None:
        """Note where a job starts."""
        self._note(
            "A2 L4" if self._is_small(job) else "A3 L7",
            "place",
            time=slot,
            job=self._jobs[job],
            gpus={
                server: list(numbers)
                for server, numbers in gpus_by_server(self._table.instance, gpus).items()
            },
            load=float(cluster.increment[job]),
            most=float(cluster.load[gpus].max()),
        )

    def waited(self, job: int, slot: int, until: int, exited: list[int]) -> None:
        """Note that a job waits, and for whom."""
        if not exited:
            self._stuck = job
        self._note(
            "A2 L8" if self._is_small(job) else "A3 L11",
            "wait",
            time=slot,
            job=self._jobs[job],
            until=until if exited else None,
            exited=[self._jobs[other] for other in exited],
        )

    def result(self, trial: Trial) -> None:
        """Note what a run of the dispatcher came to."""
        theta = self._run["theta"]
        assert theta is not None
        self._limits[trial] = theta
        if not trial.feasible:
            stuck = None if self._stuck is None else self._jobs[self._stuck]
            self._note("A1 L14", "fail", **self._run, job=stuck)
            return
        self._note(
            "A1 L17",
            "finish",
            **self._run,
            starts={self._jobs[j]: trial.starts[j] for j in trial.order},
            ends={self._jobs[j]: trial.ends[j] for j in trial.order},
            makespan=int(trial.makespan),
            load=trial.load,
        )

    def improve(self, theta: int, kappa: int | None, new: Trial, old: Trial | None) -> None:
        """Note that the best run of a limit is the best so far."""
        before = None if old is None else int(old.makespan)
        makespan = int(new.makespan)
        self._note("A1 L20", "improve", theta=theta, kappa=kappa, makespan=makespan, before=before)

    def lower(self, right: int) -> None:
        """Note that the search goes on below."""
        self._note("A1 L21", "lower", right=right)

    def higher(self, left: int) -> None:
        """Note that the search goes on above."""
        self._note("A1 L23", "raise", left=left)

    def stop(self, theta: int, kappa: int | None) -> None:
        """Note that time is up."""
        self._note("A1 L7", "stop", theta=theta, kappa=kappa)

    def answer(self, theta: int, kappa: int | None, trial: Trial) -> None:
        """Note which run is returned."""
        self._note("A1 L24", "answer", theta=theta, kappa=kappa, makespan=int(trial.makespan))

    def nothing(self, reason: str) -> None:
        """Note that no run is returned."""
        self._note("A1 L24", "answer", theta=None, kappa=None, makespan=None, reason=reason)

    def _is_small(self, job: int) -> bool:
        """Whether the job goes by FA-FFP."""
        return self._kappa is not None and self._table.size[job] <= self._kappa
