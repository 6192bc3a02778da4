"""G_delta, the gain before randomized rounding, (31) and (32): from Chernoff's bounds.

The paper's two equations are lost; these are derived anew, and may differ in constants.
"""

import math
from typing import NamedTuple

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.offers import Arrived, Slot


def packing_gain(width: float, rows: int, delta: float) -> float | None:
    """Return a G <= 1 with which all packing rows hold with probability >= 1 - delta / 3.

    Parameters
    ----------
    width : float
        W_a, the least right side of a row over its largest coefficient.
    rows : int
        Of (24), R H; row (25) is one more.

    Returns
    -------
    float or None
        None where no gain does it: W_a <= ln(3 (R H + 1) / delta).
    """
    log = math.log(3 * (rows + 1) / delta)
    if width >= 6 * log:
        c = 3 * log / width
        return 1 + c / 2 - math.sqrt(c + c * c / 4)
    if width > log:
        q = log / width
        return 1 + q / 2 - math.sqrt(2 * q + q * q / 4)
    return None


def cover_gain(width: float, delta: float, rows: int = 1) -> float:
    """Return a G >= 1 with which the cover rows hold with probability >= 1 - delta / 3.

    Parameters
    ----------
    width : float
        W_b, their least right side: n of (26), or min(n, m(n)) with the PSs.
    rows : int
        1 for (26) alone, 2 with the PSs.
    """
    d = 2 * math.log(3 * rows / delta) / width
    return 1 + d / 2 + math.sqrt(d + d * d / 4)


def packing_width(slot: Slot) -> float:
    """Return W_a of the rows in which anything fits at all; F where there is none."""
    workers, ps = slot.most
    units = np.maximum(
        np.where(workers[:, None] > 0, slot.job.worker, 0),
        np.where(ps[:, None] > 0, slot.job.ps, 0),
    )  # [h, r]
    used = units > 0
    return float(min(slot.job.batch, (slot.room[used] / units[used]).min(initial=np.inf)))


class Odds(NamedTuple):
    """What decides on a job's gains on the empty cluster, where its widths are largest.

    `W_b` is that of its largest number of workers; with one worker it is 1.
    """

    W_a: float
    W_b: int
    log: float  # ln(3 (R H + 1) / delta), which W_a must exceed
    c: float
    d: float
    packing: float | None  # G of (31), None where there is none
    cover: float  # G of (32) with the row of PSs


def odds(instance: DmlrsInstance, job: Arrived, delta: float) -> Odds:
    """Return the odds of a job, at its largest number of workers."""
    capacity = arrays(instance).capacity_milli
    empty = Slot(job, capacity, np.zeros(capacity.shape))
    width = packing_width(empty)
    most = int(min(job.bundles.workers[-1], job.bundles.ps[-1]))
    log = math.log(3 * (capacity.size + 1) / delta)
    return Odds(
        width,
        most,
        log,
        3 * log / width if width else math.inf,
        2 * math.log(6 / delta) / most,
        packing_gain(width, capacity.size, delta),
        cover_gain(most, delta, 2),
    )
