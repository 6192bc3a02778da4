"""Events of a run of SJF-BCO, step by step, as plain JSON data.

Each event is a dict with `line`, the line of the pseudocode, `event`, its name, and the keys below.
Times are slots from 1; theta, the limit on loads, and loads are slots of estimated work; GPUs are
numbers from 0 by server id. Jobs and servers are given by id.

| event | line | keys |
| --- | --- | --- |
| `order` | A1 L3 | `jobs`: in the order in which every run dispatches them |
| `limit` | A1 L6 | `theta`; `left`, `right`: range of the limits that are not ruled out |
| `run` | A1 L7 | `theta`, `kappa`: a run of all jobs begins in slot 1, all loads are 0 |
| `repeat` | A1 L7 | `theta`, `kappa`, `like`: the run is the one with the limit `like` again |
| `place` | A2 L4, A3 L7 | `time`, `job`, `gpus`; `load`: added to each of its GPUs, \
`most`: largest load among them afterwards |
| `wait` | A2 L8, A3 L11 | `time`, `job`; `until`: slot in which it is considered again, `exited`: \
jobs that leave until then; empty, and `until` None, if none leaves in time |
| `fail` | A1 L14 | `theta`, `kappa`, `job`: the job that was not placed; None if all were, but \
some job ends after the horizon |
| `finish` | A1 L17 | `theta`, `kappa`, `starts`, `ends`: slots by job, `makespan`, `load`: \
largest load of a GPU |
| `improve` | A1 L20 | `theta`, `kappa`, `makespan`, `before`: previous best makespan, or None |
| `lower` | A1 L21 | `right`: largest limit not ruled out |
| `raise` | A1 L23 | `left`: smallest limit not ruled out |
| `stop` | A1 L7 | `theta`, `kappa`: time is up before this run |
| `answer` | A1 L24 | `theta`, `kappa`, `makespan` of the run that is returned; all \
None if there is none, and `reason` says why |

The `time` of `place` is the start of the job.
"""

from schedgap.models.ring.dispatch import ClusterState, Ints, Trial, gpus_by_server
from schedgap.models.ring.rates import RateTable


class Journal:
    """Recorder of the events of one run of SJF-BCO; its methods are called at each step.

    Jobs are passed as indices in list order, and noted by id.

    `recording`: whether events are kept; without it there are none.
    """

    def __init__(self, table: RateTable, *, recording: bool = True) -> None:
        self.recording = recording
        self.events: list[dict[str, object]] = []
        self._table = table
        self._jobs = [job.id for job in table.instance.jobs]
        self._run: dict[str, int | None] = {}  # theta and kappa of the current run
        self._kappa: int | None = None
        self._stuck: int | None = None  # job that was not placed in the current run
        self._limits: dict[Trial, int] = {}  # the limit at which each run was made

    def _note(self, line: str, event: str, **keys: object) -> None:
        if self.recording:
            self.events.append({"line": line, "event": event, **keys})

    def order(self, jobs: list[int]) -> None:
        """Note the order of the jobs.

        `jobs`: jobs in the order of dispatch.
        """
        self._note("A1 L3", "order", jobs=[self._jobs[j] for j in jobs])

    def limit(self, theta: int, left: int, right: int) -> None:
        """Note that a limit is tried.

        `theta`: limit on loads, slots. `left`, `right`: range of the limits that are not ruled out.
        """
        self._note("A1 L6", "limit", theta=theta, left=left, right=right)

    def run(self, theta: int, kappa: int | None) -> None:
        """Note that a run begins.

        `theta`: limit on loads, slots. `kappa`: threshold on G_j.
        """
        self._run, self._kappa, self._stuck = {"theta": theta, "kappa": kappa}, kappa, None
        self._note("A1 L7", "run", **self._run)

    def repeat(self, theta: int, kappa: int | None, trial: Trial) -> None:
        """Note that a run is identical to an earlier one.

        `theta`: limit on loads, slots. `kappa`: threshold on G_j.
        """
        like = self._limits[trial]
        self._note("A1 L7", "repeat", theta=theta, kappa=kappa, like=like)

    def placed(self, job: int, slot: int, gpus: Ints, cluster: ClusterState) -> None:
        """Note where a job starts; parameters as in `DispatchObserver`.

        `gpus`: global indices of its GPUs.
        """
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
        """Note that a job waits; parameters as in `DispatchObserver`.

        `slot`, `until`: slots in which it is considered now and next. `exited`: jobs that leave in
        between; empty if none leaves in time.
        """
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
        """Note the result of a run."""
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
        """Note that the best run of a limit improves on all earlier ones.

        `theta`: limit on loads, slots. `kappa`: threshold on G_j.
        """
        before = None if old is None else int(old.makespan)
        makespan = int(new.makespan)
        self._note("A1 L20", "improve", theta=theta, kappa=kappa, makespan=makespan, before=before)

    def lower(self, right: int) -> None:
        """Note that the search continues with lower limits.

        `right`: largest limit not ruled out.
        """
        self._note("A1 L21", "lower", right=right)

    def higher(self, left: int) -> None:
        """Note that the search continues with higher limits.

        `left`: smallest limit not ruled out.
        """
        self._note("A1 L23", "raise", left=left)

    def stop(self, theta: int, kappa: int | None) -> None:
        """Note that time is up.

        `theta`: limit on loads, slots. `kappa`: threshold on G_j.
        """
        self._note("A1 L7", "stop", theta=theta, kappa=kappa)

    def answer(self, theta: int, kappa: int | None, trial: Trial) -> None:
        """Note which run is returned.

        `theta`: limit on loads, slots. `kappa`: threshold on G_j.
        """
        self._note("A1 L24", "answer", theta=theta, kappa=kappa, makespan=int(trial.makespan))

    def nothing(self, reason: str) -> None:
        """Note that no run is returned.

        `reason`: one line for the user.
        """
        self._note("A1 L24", "answer", theta=None, kappa=None, makespan=None, reason=reason)

    def _is_small(self, job: int) -> bool:
        """Whether FA-FFP places the job."""
        return self._kappa is not None and self._table.size[job] <= self._kappa
