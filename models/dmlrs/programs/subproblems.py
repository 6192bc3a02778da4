"""The subproblems of PD-ORS for one job, as programs to read: (15), (16), (19) and (22).

Algorithms 2-4 solve them without an engine. (23), whose relaxation Algorithm 4 solves, is in
`across_machines`. The exported files are for the last job to arrive, at the prices of a greedy
run of the jobs before it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, STEP, DmlrsInstance, arrays
from schedgap.models.dmlrs.algorithms.best_schedule import PricedCluster
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.algorithms.prices import declared, final_load, of_jobs
from schedgap.models.dmlrs.programs import across_machines, printed
from schedgap.models.dmlrs.slot_options import JobAtArrival, SlotState, candidates
from schedgap.models.dmlrs.throughput import FULL

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


@dataclass(frozen=True, slots=True, eq=False)
class JobSubproblem:
    """An arriving job and the cluster at its arrival."""

    instance: DmlrsInstance
    job: JobAtArrival
    cluster: PricedCluster

    def slot(self, t: int) -> SlotState:
        """Return the state of slot t for the job.

        `t`: slot, 1..T.
        """
        free = self.cluster.capacity - self.cluster.load[t - 1]
        return SlotState(self.job, free, self.cluster.price[t - 1])

    def share(self, mode: int) -> int:
        """Return the least number of workers that does an equal share of the work per slot.

        The share is over the slots from the arrival to T; the largest number if none suffices.

        `mode`: `INTERNAL` (0) or `EXTERNAL` (1).
        """
        workers = self.job.bundles.workers
        slots = self.instance.horizon - self.job.arrival + 1
        enough = workers / self.job.needed[mode] * slots >= FULL
        return int(workers[enough.argmax() if enough.any() else -1])


def arriving(instance: DmlrsInstance) -> int | None:
    """Return the index of the last job to arrive that can be completed; None if there is none."""
    jobs = candidates(instance)
    return jobs[-1].index if jobs else None


def last_to_arrive(instance: DmlrsInstance) -> JobSubproblem:
    """Return the last job that can be completed, after a greedy run of those before it.

    Raises
    ------
    UsageError
        When no job can be completed.
    """
    jobs = candidates(instance)
    if not jobs:
        raise UsageError("no program: no job can be completed")
    data = instance.to_data()
    data["jobs"] = [data["jobs"][job.index] for job in jobs[:-1]]
    before = DmlrsInstance.from_data(data)
    load = final_load(before, pd_ors(before, across="greedy"))
    capacity = arrays(instance).capacity_milli
    prices = declared(instance) or of_jobs(jobs, instance.horizon, capacity)
    return JobSubproblem(
        instance, jobs[-1], PricedCluster(capacity, load, prices.price(load, capacity))
    )


def of_the_last_job(instance: DmlrsInstance, equation: str) -> "ConcreteModel":
    """Return a subproblem of the last job to arrive.

    `equation`: 15, 16, 19, 22, 23 or "23 relaxed". Subproblems of one slot take the cheapest slot,
    the first of several, and an equal share of the work.
    """
    subproblem = last_to_arrive(instance)
    if equation in ("15", "16"):
        return build_15(subproblem) if equation == "15" else build_16(subproblem)
    prices = subproblem.cluster.price[subproblem.job.arrival - 1 :]
    slot = subproblem.slot(subproblem.job.arrival + int(prices.sum(axis=(1, 2)).argmin()))
    inside, across = subproblem.share(INTERNAL), subproblem.share(EXTERNAL)
    if equation == "19":
        return build_19(slot, inside, across)
    if equation == "22":
        return build_22(slot, inside)
    return across_machines.model(slot, across, relax=equation == "23 relaxed")


def build_15(subproblem: JobSubproblem) -> "ConcreteModel":
    """Return (15): the schedule of largest payoff; 0 if the job is better rejected.

    `subproblem`: job and cluster.
    """
    import pyomo.core as pyo

    model = _single_job(subproblem)
    utility = subproblem.job.utility
    earned = sum(float(utility[f - subproblem.job.arrival]) * y for (_, f), y in model.y.items())
    model.objective = pyo.Objective(expr=earned - model.cost, sense=pyo.maximize)
    return model


def build_16(subproblem: JobSubproblem, completion: int | None = None) -> "ConcreteModel":
    """Return (16)-(18): the cheapest schedule that is complete by a given slot.

    `subproblem`: job and cluster. `completion`: that slot; by default T.
    """
    import pyomo.core as pyo

    model = _single_job(subproblem)
    last = subproblem.instance.horizon if completion is None else completion
    model.objective = pyo.Objective(expr=model.cost + 0)
    model.eq_16 = pyo.Constraint(expr=model.y[0, last] == 1, doc="when it is complete")
    return model


def _single_job(subproblem: JobSubproblem) -> "ConcreteModel":
    """Return (3)-(7) for one job in the free capacity, with its cost as an expression."""
    import pyomo.core as pyo

    data = subproblem.instance.to_data()
    data["jobs"] = [data["jobs"][subproblem.job.index]]
    model = printed.build(DmlrsInstance.from_data(data))
    load, price = subproblem.cluster.load, subproblem.cluster.price
    rows = {key: row.body for key, row in model.eq_5.items()}
    model.del_component(model.objective)
    model.del_component(model.eq_5)
    model.cost = pyo.Expression(
        expr=pyo.quicksum(float(price[t - 1, h, r]) * used for (h, t, r), used in rows.items())
    )
    model.eq_18 = pyo.Constraint(
        list(rows),
        doc="free capacity of each machine, slot and resource",
        rule=lambda model, h, t, r: (
            rows[h, t, r] <= int(subproblem.cluster.capacity[h, r] - load[t - 1, h, r]) / STEP
        ),
    )
    return model


def build_19(slot: SlotState, inside: int, across: int) -> "ConcreteModel":
    """Return (19), (20): the cheapest slot with at least a given number of workers in either mode.

    `slot`: state of the slot for the job. `inside`, `across`: ceil(v c) in the two modes, the least
    numbers of workers that train v samples.
    """
    import pyomo.core as pyo

    job, (H, R) = slot.job, slot.free.shape
    pairs = list(zip(job.bundles.workers.tolist(), job.bundles.ps.tolist(), strict=True))
    needs = dict(pairs)
    model = pyo.ConcreteModel(name="sub-19")
    fits = np.all(job.bundles.demand_milli[:, None, :] <= slot.free, axis=2)  # [k, h]
    model.vI = pyo.Var(
        [(h, n) for k, (n, _) in enumerate(pairs) for h in range(H) if n >= inside and fits[k, h]],
        domain=pyo.Binary, doc="n workers and their PSs on machine h, and nothing elsewhere",
    )  # fmt: skip
    model.vE = pyo.Var(
        [n for n, _ in pairs if n >= across and H > 1],
        domain=pyo.Binary, doc="n workers on several machines",
    )  # fmt: skip
    for name, most, what in zip("ws", slot.max_units, ("workers", "PSs"), strict=True):
        bounds = {h: (0, int(units)) for h, units in enumerate(most)}
        doc, domain = f"{what} on machine h, of several", pyo.NonNegativeIntegers
        model.add_component(name, pyo.Var(range(H), domain=domain, bounds=bounds, doc=doc))
    model.eq_20 = pyo.Constraint(
        expr=sum(model.vI.values()) + sum(model.vE.values()) == 1,
        doc="one choice of those that train v samples",
    )
    model.eq_4 = pyo.Constraint(
        expr=sum(model.w.values()) == sum(n * v for n, v in model.vE.items())
    )
    model.eq_2 = pyo.Constraint(
        expr=sum(model.s.values()) == sum(needs[n] * v for n, v in model.vE.items())
    )
    alpha, beta = job.worker / STEP, job.ps / STEP

    def load(h: int, r: int) -> Any:
        own = sum(
            float(alpha[r] * n + beta[r] * needs[n]) * v
            for (g, n), v in model.vI.items() if g == h
        )  # fmt: skip
        return own + float(alpha[r]) * model.w[h] + float(beta[r]) * model.s[h]

    model.objective = pyo.Objective(
        expr=sum(float(slot.price[h, r]) * load(h, r) for h, r in np.ndindex(H, R))
    )
    model.eq_18 = pyo.Constraint(
        range(H), range(R), rule=lambda model, h, r: load(h, r) <= int(slot.free[h, r]) / STEP
    )
    return model


def build_22(slot: SlotState, workers: int) -> "ConcreteModel":
    """Return (22): the cheapest machine for n workers with their PSs.

    `slot`: state of the slot for the job. `workers`: n, an allowed number of workers.
    """
    import pyomo.core as pyo

    job_bundles = slot.job.bundles
    k = int(np.searchsorted(job_bundles.workers, workers))
    price = slot.price @ job_bundles.demand[k]
    model = pyo.ConcreteModel(name="sub-22")
    model.z = pyo.Var(range(len(slot.free)), domain=pyo.Binary, doc="machine h holds them")
    model.objective = pyo.Objective(expr=sum(float(price[h]) * z for h, z in model.z.items()))
    model.eq_22 = pyo.Constraint(expr=sum(model.z.values()) == 1, doc="one machine")
    held = [(h, r) for h, r in np.ndindex(slot.free.shape) if job_bundles.demand_milli[k, r]]
    model.eq_18 = pyo.Constraint(
        held,
        doc="free capacity of the machine",
        rule=lambda model, h, r: (
            float(job_bundles.demand[k, r]) * model.z[h] <= int(slot.free[h, r]) / STEP
        ),
    )
    return model
