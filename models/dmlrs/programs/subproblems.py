"""What PD-ORS solves for one job, as programs to be read: (15), (16), (19), (22) and (23).

Algorithms 2-4 solve them without an engine, but for the relaxation of (23). As files they are those
of the last job to arrive, at the prices that the greedy run has made by then.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, STEP, DmlrsInstance, arrays
from schedgap.models.dmlrs.algorithms.best_schedule import Market
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.algorithms.prices import declared, final_load, of_jobs
from schedgap.models.dmlrs.offers import Arrived, Slot, arrived
from schedgap.models.dmlrs.programs import one_hot
from schedgap.models.dmlrs.throughput import FULL


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A job that arrives, and the cluster as it finds it."""

    instance: DmlrsInstance
    job: Arrived
    market: Market

    def slot(self, t: int) -> Slot:
        """Return slot t as the job finds it."""
        room = self.market.capacity - self.market.load[t - 1]
        return Slot(self.job, room, self.market.price[t - 1])

    def share(self, mode: int) -> int:
        """Return the least number of workers that does an even share of the work in a slot."""
        workers = self.job.bundles.workers
        slots = self.instance.horizon - self.job.arrival + 1
        enough = workers / self.job.needed[mode] * slots >= FULL
        return int(workers[enough.argmax() if enough.any() else -1])


def last_to_arrive(instance: DmlrsInstance) -> Asked:
    """Return the last job that may be completed, after a greedy run over those before it."""
    able = [arrived(instance, j) for j in range(len(instance.jobs))]
    able = sorted((job for job in able if job.first <= instance.horizon), key=lambda j: j.arrival)
    if not able:
        raise UsageError("no program: no job can be completed")
    data = instance.to_data()
    data["jobs"] = [data["jobs"][job.place] for job in able[:-1]]
    before = DmlrsInstance.from_data(data)
    load = final_load(before, pd_ors(before, across="greedy"))
    capacity = arrays(instance).capacity_milli
    prices = declared(instance) or of_jobs(able, instance.horizon, capacity)
    return Asked(instance, able[-1], Market(capacity, load, prices.price(load, capacity)))


def of_the_last_job(instance: DmlrsInstance, equation: str) -> Any:
    """Return a subproblem of the last job to arrive.

    Parameters
    ----------
    equation : str
        15, 16, 19, 22, 23 or "23 relaxed". Those of one slot are for the cheapest slot, the first
        one of several, and an even share of the work.
    """
    asked = last_to_arrive(instance)
    if equation in ("15", "16"):
        return build_15(asked) if equation == "15" else build_16(asked)
    prices = asked.market.price[asked.job.arrival - 1 :]
    slot = asked.slot(asked.job.arrival + int(prices.sum(axis=(1, 2)).argmin()))
    inside, across = asked.share(INTERNAL), asked.share(EXTERNAL)
    if equation == "19":
        return build_19(slot, inside, across)
    if equation == "22":
        return build_22(slot, inside)
    return build_23(slot, across, relax=equation == "23 relaxed")


def build_15(asked: Asked) -> Any:
    """Return (15): the schedule of the largest payoff; 0 where the job is better rejected."""
    import pyomo.environ as pyo

    model = _alone(asked)
    worth = asked.job.utility
    earned = sum(float(worth[f - asked.job.arrival]) * y for (_, f), y in model.y.items())
    model.objective = pyo.Objective(expr=earned - model.cost, sense=pyo.maximize)
    return model


def build_16(asked: Asked, completion: int | None = None) -> Any:
    """Return (16)-(18): the cheapest schedule that is complete by a slot, T unless it is given."""
    import pyomo.environ as pyo

    model = _alone(asked)
    last = asked.instance.horizon if completion is None else completion
    model.objective = pyo.Objective(expr=model.cost + 0)
    model.eq_16 = pyo.Constraint(expr=model.y[0, last] == 1, doc="when it is complete")
    return model


def _alone(asked: Asked) -> Any:
    """Return (3)-(7) for the job alone in what room is left, with its cost as an expression."""
    import pyomo.environ as pyo

    data = asked.instance.to_data()
    data["jobs"] = [data["jobs"][asked.job.place]]
    model = one_hot.build(DmlrsInstance.from_data(data), symmetry=False)
    load, price = asked.market.load, asked.market.price
    rows = {key: row.body for key, row in model.eq_5.items()}
    model.del_component(model.objective)
    model.del_component(model.eq_5)
    model.cost = pyo.Expression(
        expr=pyo.quicksum(float(price[t - 1, h, r]) * used for (h, t, r), used in rows.items())
    )
    model.eq_18 = pyo.Constraint(
        list(rows),
        doc="what is left of each machine, slot and resource",
        rule=lambda model, h, t, r: (
            rows[h, t, r] <= int(asked.market.capacity[h, r] - load[t - 1, h, r]) / STEP
        ),
    )
    return model


def build_19(slot: Slot, inside: int, across: int) -> Any:
    """Return (19), (20): the cheapest slot with so many workers, by mode, or more.

    Parameters
    ----------
    inside, across : int
        ceil(v c), the least numbers of workers that train v samples.
    """
    import pyomo.environ as pyo

    job, (H, R) = slot.job, slot.room.shape
    pairs = list(zip(job.bundles.workers.tolist(), job.bundles.ps.tolist(), strict=True))
    needs = dict(pairs)
    model = pyo.ConcreteModel(name="sub-19")
    fits = np.all(job.bundles.demand_milli[:, None, :] <= slot.room, axis=2)  # [k, h]
    model.vI = pyo.Var(
        [(h, n) for k, (n, _) in enumerate(pairs) for h in range(H) if n >= inside and fits[k, h]],
        domain=pyo.Binary, doc="n workers and their PSs on machine h, and nothing elsewhere",
    )  # fmt: skip
    model.vE = pyo.Var(
        [n for n, _ in pairs if n >= across and H > 1],
        domain=pyo.Binary, doc="n workers on several machines",
    )  # fmt: skip
    _add_places(model, slot)
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
        range(H), range(R), rule=lambda model, h, r: load(h, r) <= int(slot.room[h, r]) / STEP
    )
    return model


def build_22(slot: Slot, workers: int) -> Any:
    """Return (22): the cheapest machine for n workers with their PSs, where any has room."""
    import pyomo.environ as pyo

    some = slot.job.bundles
    k = int(np.searchsorted(some.workers, workers))
    price = slot.price @ some.demand[k]
    model = pyo.ConcreteModel(name="sub-22")
    model.z = pyo.Var(range(len(slot.room)), domain=pyo.Binary, doc="machine h holds them")
    model.objective = pyo.Objective(expr=sum(float(price[h]) * z for h, z in model.z.items()))
    model.eq_22 = pyo.Constraint(expr=sum(model.z.values()) == 1, doc="one machine")
    held = [(h, r) for h, r in np.ndindex(slot.room.shape) if some.demand_milli[k, r]]
    model.eq_18 = pyo.Constraint(
        held,
        doc="what is left of it",
        rule=lambda model, h, r: (
            float(some.demand[k, r]) * model.z[h] <= int(slot.room[h, r]) / STEP
        ),
    )
    return model


def build_23(slot: Slot, workers: int, *, relax: bool = False) -> Any:
    """Return (23)-(26): the cheapest places for n workers, with their PSs, whatever the machines.

    Parameters
    ----------
    relax : bool
        Any numbers >= 0, as Algorithm 4 solves it before it rounds.
    """
    import pyomo.environ as pyo

    job = slot.job
    k = int(np.searchsorted(job.bundles.workers, workers))
    model = pyo.ConcreteModel(name="sub-23")
    _add_places(model, slot, relax=relax)
    model.objective = pyo.Objective(
        expr=sum(float(slot.worker_price[h]) * w for h, w in model.w.items())
        + sum(float(slot.ps_price[h]) * s for h, s in model.s.items())
    )
    used = job.worker + job.ps > 0
    model.eq_24 = pyo.Constraint(
        [(h, r) for h, r in np.ndindex(slot.room.shape) if used[r]],
        doc="what is left of each machine and resource",
        rule=lambda model, h, r: (
            float(job.worker[r] / STEP) * model.w[h] + float(job.ps[r] / STEP) * model.s[h]
            <= int(slot.room[h, r]) / STEP
        ),
    )
    total = sum(model.w.values())
    model.eq_25 = pyo.Constraint(expr=total <= job.batch, doc="at most the batch")
    model.eq_26 = pyo.Constraint(expr=total >= int(job.bundles.workers[k]), doc="v samples")
    model.fix_e3 = pyo.Constraint(
        expr=sum(model.s.values()) >= int(job.bundles.ps[k]), doc="PSs for them"
    )
    return model


def _add_places(model: Any, slot: Slot, *, relax: bool = False) -> None:
    import pyomo.environ as pyo

    domain = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    for name, most, what in zip("ws", slot.most, ("workers", "PSs"), strict=True):
        var = pyo.Var(
            range(len(slot.room)),
            domain=domain,
            bounds=lambda model, h, most=most: (0, int(most[h])),
            doc=f"{what} on machine h, of several",
        )
        model.add_component(name, var)
