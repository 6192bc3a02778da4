"""The methods that solve the programs, and prices that prove their bounds without a solver."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pyomo.environ as pyo

import schedgap.extend as sg
from allox_family.algorithms import allox
from allox_family.instance import AlloxInstance, AlloxSchedule
from allox_family.programs import excess, matching, narrow, read
from allox_family.rules import objective

Call = sg.RunContext[AlloxSchedule]
Result = sg.MethodResult[AlloxSchedule]


class Positions(sg.Certificate):
    """Dual values of the rows `position`: prices[machine][position from the end]."""

    kind: Literal["positions"]
    prices: sg.Many[sg.Many[sg.NonNegative]]

    def bound(self, instance: AlloxInstance) -> float:
        """Return what the jobs pay if each takes its best position, less the price of all."""
        J, M = instance.arrival, instance.machines
        prices = np.array(self.prices).reshape(len(M), len(J))
        time = np.array([[instance.time[j, m] for m in M] for j in J])
        cost = np.arange(1, len(J) + 1) * time[:, :, None] + prices
        return float(cost.min(axis=(1, 2)).sum() - prices.sum() - sum(J.values()))


class Slots(sg.Certificate):
    """Dual values of the rows `slot`: a price for each slot from 0 on."""

    kind: Literal["slots"]
    cpu: sg.Many[sg.NonNegative]
    gpu: sg.Many[sg.NonNegative]

    def bound(self, instance: AlloxInstance) -> float:
        """Return what the jobs pay if each takes its best start, less the price of all slots.

        It is at most the value of the schedules that end later than the last slot with a price.
        """
        prices = np.array([self.cpu, self.gpu])
        total = -instance.cpus * prices[0].sum() - instance.gpus * prices[1].sum()
        until = np.pad(prices.cumsum(axis=1), ((0, 0), (1, 0)))
        for job in instance.jobs:
            least = np.inf
            for paid, length in zip(until, (job.cpu, job.gpu), strict=True):
                start = np.arange(job.arrival, len(paid) - length)
                cost = start + length - job.arrival + paid[start + length] - paid[start]
                least = min(least, cost.min(initial=np.inf))
            total += least
        return float(min(total, prices.shape[1] + 1 + excess(instance)))


def check_certificate(instance: AlloxInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound that prices prove; InputError for anything else."""
    kinds: dict[str, type[Positions | Slots]] = {"positions": Positions, "slots": Slots}
    prices = sg.read_certificate(certificate, kinds)
    return sg.proved(lambda: prices.bound(instance))


def lp(instance: AlloxInstance, call: Call) -> Result:
    """Solve the linear relaxation; the dual values of its machines prove the bound."""
    model = program(instance)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    duals = sg.solve_program(model, "highs", clock=call.clock).duals
    if duals is None:
        return sg.MethodResult(note="stopped before the end")
    rows = model.component("position") or model.component("slot")
    price = {key: max(0.0, -duals[row.name]) for key, row in rows.items()}
    last = range(1 + max(index for _, index in price))
    if rows.local_name == "position":
        prices = [[price[m, k] for k in last[1:]] for m in instance.machines]
        certificate: dict[str, Any] = {"kind": "positions", "prices": prices}
    else:
        table = {kind: [price.get((kind, t), 0.0) for t in last] for kind in ("cpu", "gpu")}
        certificate = {"kind": "slots", **table}
    return sg.MethodResult(bound=check_certificate(instance, certificate), certificate=certificate)


def exact(instance: AlloxInstance, call: Call) -> Result:
    """Start from AlloX and the linear relaxation, and solve the program if they differ."""

    def value(schedule: AlloxSchedule) -> float:
        return objective(instance, schedule.to_data(instance))

    state = sg.SearchState(call, value, round_bound=lambda bound: math.ceil(bound - 1e-6))
    state.incumbent(allox(instance))
    relaxed = lp(instance, call)
    if relaxed.bound is not None:
        state.bound(relaxed.bound, relaxed.certificate)
    if not state.closed:
        model = program(instance)
        state.solve(model, lambda _: read(model, instance), grid=1.0)
    return state.outcome()


def program(instance: AlloxInstance) -> Any:
    """Return the paper's program if it is exact for the instance, and else ours."""
    return (narrow if any(instance.arrival.values()) else matching)(instance)
