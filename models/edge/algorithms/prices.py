"""The price functions (7) and (8), and the prices of one round of A_online.

E10, E11 are errata of the paper as numbered in `paper.toml`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.edge import EdgeInstance
from schedgap.instances.edge.compiled import EdgeArrays
from schedgap.models.edge.algorithms.cheapest_schedule import (
    Floats,
    Ints,
    PricedPlacement,
    PricingProblem,
    SlotWindows,
)

MAX_CELLS = 2 * 10**7  # servers x slots in the tables of one type: 0.16 GB
Resource = Literal["worker", "ps"]


class PriceScale(NamedTuple):
    """theta_1 - 1 and theta_2 - 1; with 0 every price is 0.

    theta - 1 is stored, because at the paper's scale prices decide only for F far below 1. The
    number 1 + 1e-12 has lost four digits.
    """

    worker: float
    ps: float


def price_scale(instance: EdgeInstance) -> PriceScale:
    """Return 2 T S U F_1 and 2 T S V F_2 of (7) and (8).

    Notes
    -----
    S counts all servers including clouds; U and V are numbers of types; T is the horizon.
    """
    slots = 2.0 * instance.horizon * len(instance.servers)
    caps = instance.price_caps
    return PriceScale(
        slots * len(instance.worker_types) * caps.worker,
        slots * len(instance.ps_types) * caps.parameter_server,
    )


def unit_price(theta_1: float, used: Ints, capacity: int) -> Floats:
    """Return theta^(used/capacity) - 1, the price of one unit for one slot.

    `theta_1`: theta - 1, from `PriceScale`. `used`: units in use, 0..capacity. `capacity`: units of
    the server, >= 1.

    Notes
    -----
    Source: (7), (8), with the utilization as an exponent (E10).
    """
    price: Floats = np.expm1(used / capacity * math.log1p(theta_1))
    return price


class PriceRise(NamedTuple):
    """Prices of one resource on one server before and after a schedule is accepted."""

    resource: Resource
    server: int  # index
    before: Floats  # [t] in the slots of the schedule
    after: Floats


@dataclass(slots=True, eq=False)
class RoundPrices:
    """Prices and free units of all types in the slots of one round, from slot tau_i + 1 on (E11).

    The tables of a type are created when a job first asks for it.
    """

    view: EdgeArrays
    theta: PriceScale
    slots: int
    workers: dict[int, SlotWindows]  # windows by index of the type
    ps: dict[int, SlotWindows]

    @classmethod
    def empty(cls, view: EdgeArrays, theta: PriceScale, slots: int) -> "RoundPrices":
        """Return the prices on the empty network.

        `theta`: scale of the prices. `slots`: slots of the round.

        Raises
        ------
        ScaleError
            If the tables would be too large.

        Notes
        -----
        Source: Algorithm 2, line 1.
        """
        if slots * len(view.workers) > MAX_CELLS:
            raise ScaleError(
                f"{slots} slots on {len(view.workers)} servers are too many to price: at most "
                f"{MAX_CELLS:.2g} pairs are kept"
            )
        return cls(view, theta, slots, {}, {})  # A2 L1

    def pricing_problem(self, worker_type: int, ps_type: int) -> PricingProblem:
        """Return the pricing problem of a job with these types.

        `worker_type`, `ps_type`: indices.
        """
        for tables, capacity, kind in (
            (self.workers, self.view.workers, worker_type),
            (self.ps, self.view.ps, ps_type),
        ):
            if kind not in tables:
                free = np.repeat(capacity[:, kind, None], self.slots, axis=1)
                tables[kind] = SlotWindows(np.zeros(free.shape), free)
        return PricingProblem(self.workers[worker_type], self.ps[ps_type])

    def accept(self, worker_type: int, ps_type: int, placed: PricedPlacement) -> None:
        """Allocate what a schedule uses, f and g, and raise the prices there.

        `worker_type`, `ps_type`: types of the job, by index.
        """
        for windows, s, slots, price, free in self._changes(worker_type, ps_type, placed):
            windows.change(s, slots, price, free)

    def rises(self, worker_type: int, ps_type: int, placed: PricedPlacement) -> Iterator[PriceRise]:
        """Yield how `accept` would change the prices, server by server, workers first.

        `worker_type`, `ps_type`: types of the job, by index.
        """
        for windows, s, slots, price, _ in self._changes(worker_type, ps_type, placed):
            resource: Resource = "worker" if windows is self.workers[worker_type] else "ps"
            yield PriceRise(resource, s, windows.price[s, slots], price)

    def _changes(
        self, worker_type: int, ps_type: int, placed: PricedPlacement
    ) -> Iterator[tuple[SlotWindows, int, slice, Floats, Ints]]:
        """Yield table, server, slots, and prices and free units after a schedule is accepted."""
        slots = slice(placed.start, placed.start + placed.duration)
        for windows, capacity, theta, counts in (
            (self.workers[worker_type], self.view.workers[:, worker_type], self.theta.worker,
             placed.workers),
            (self.ps[ps_type], self.view.ps[:, ps_type], self.theta.ps, {placed.ps: 1}),
        ):  # fmt: skip
            for s, count in counts.items():
                free = windows.free[s, slots] - count
                used = int(capacity[s]) - free
                yield windows, s, slots, unit_price(theta, used, int(capacity[s])), free
