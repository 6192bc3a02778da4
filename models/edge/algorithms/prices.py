"""The price functions (7) and (8), and the market of one round.

E10, E11 are the paper's errata as numbered in `paper.py`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.edge import EdgeInstance
from schedgap.instances.edge.compiled import EdgeArrays
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, Ints, Market, Offer, Windows

MOST_CELLS = 2 * 10**7  # of the tables of one type: 0.16 GB
Resource = Literal["worker", "ps"]


class Scale(NamedTuple):
    """theta_1 - 1 and theta_2 - 1; 0 makes every price 0.

    Less 1, because at the paper's scale only an F far below 1 lets prices decide, and 1 + 1e-12 has
    lost four digits.
    """

    worker: float
    ps: float


def scale(instance: EdgeInstance) -> Scale:
    """Return what (7) and (8) are made of: 2 T S U F_1 and 2 T S V F_2.

    Notes
    -----
    S counts all servers, the clouds as well; U and V are numbers of types; T is the horizon.
    """
    slots = 2.0 * instance.horizon * len(instance.servers)
    caps = instance.price_caps
    return Scale(
        slots * len(instance.worker_types) * caps.worker,
        slots * len(instance.ps_types) * caps.parameter_server,
    )


def unit_price(theta_1: float, used: Ints, capacity: int) -> Floats:
    """Return theta^(used/capacity) - 1, the price of one unit for one slot.

    Parameters
    ----------
    theta_1 : float
        theta - 1, of `Scale`.
    used : array of int
        Units in use, 0..capacity.
    capacity : int
        >= 1.

    Notes
    -----
    Source: (7), (8), with the use as an exponent (E10).
    """
    price: Floats = np.expm1(used / capacity * math.log1p(theta_1))
    return price


class Rise(NamedTuple):
    """The price of one resource on a server in the slots of a schedule, before and after it."""

    resource: Resource
    server: int  # index
    before: Floats  # [t]
    after: Floats


@dataclass(slots=True, eq=False)
class RoundMarket:
    """Prices and free units of all types in the slots of one round, from slot tau_i + 1 on (E11).

    Made with zero use; of each type only when a job asks for it.
    """

    view: EdgeArrays
    theta: Scale
    slots: int
    workers: dict[int, Windows]  # by index of type
    ps: dict[int, Windows]

    @classmethod
    def empty(cls, view: EdgeArrays, theta: Scale, slots: int) -> "RoundMarket":
        """Return the market of an empty network; source: Algorithm 2, line 1."""
        if slots * len(view.workers) > MOST_CELLS:
            raise ScaleError(
                f"{slots} slots on {len(view.workers)} servers are too many to price: at most "
                f"{MOST_CELLS:.2g} pairs are kept"
            )
        return cls(view, theta, slots, {}, {})  # A2 L1

    def of(self, worker_type: int, ps_type: int) -> Market:
        """Return what a job with these types is offered."""
        for kept, capacity, kind in (
            (self.workers, self.view.workers, worker_type),
            (self.ps, self.view.ps, ps_type),
        ):
            if kind not in kept:
                free = np.repeat(capacity[:, kind, None], self.slots, axis=1)
                kept[kind] = Windows(np.zeros(free.shape), free)
        return Market(self.workers[worker_type], self.ps[ps_type])

    def take(self, worker_type: int, ps_type: int, offer: Offer) -> None:
        """Take what a schedule uses, f and g, and raise the prices there."""
        for windows, s, slots, price, free in self._taken(worker_type, ps_type, offer):
            windows.change(s, slots, price, free)

    def rises(self, worker_type: int, ps_type: int, offer: Offer) -> Iterator[Rise]:
        """Yield what `take` would do to the prices, server by server, workers first."""
        for windows, s, slots, price, _ in self._taken(worker_type, ps_type, offer):
            resource: Resource = "worker" if windows is self.workers[worker_type] else "ps"
            yield Rise(resource, s, windows.price[s, slots], price)

    def _taken(
        self, worker_type: int, ps_type: int, offer: Offer
    ) -> Iterator[tuple[Windows, int, slice, Floats, Ints]]:
        """Yield where a schedule uses something: server, slots, prices and free units after it."""
        slots = slice(offer.start, offer.start + offer.duration)
        for windows, capacity, theta, counts in (
            (self.workers[worker_type], self.view.workers[:, worker_type], self.theta.worker,
             offer.workers),
            (self.ps[ps_type], self.view.ps[:, ps_type], self.theta.ps, {offer.ps: 1}),
        ):  # fmt: skip
            for s, count in counts.items():
                free = windows.free[s, slots] - count
                used = int(capacity[s]) - free
                yield windows, s, slots, unit_price(theta, used, int(capacity[s])), free
