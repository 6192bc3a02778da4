"""G_delta, the gain before randomised rounding, (31) and (32), from Chernoff bounds.

The paper's two equations are lost; these are derived anew and may differ in constants.
"""

import math
from typing import NamedTuple

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.slot_options import JobAtArrival, SlotState


def packing_gain(width: float, rows: int, delta: float) -> float | None:
    """Return a gain G <= 1 for which all packing rows hold with probability >= 1 - delta / 3.

    `width`: w_a, the least right side of a row divided by its largest coefficient. `rows`: R H, the
    number of rows (24); row (25) is one more. `delta`: in (0, 1].

    The result is None if no gain suffices: W_a <= ln(3 (R H + 1) / delta).
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
    """Return a gain G >= 1 for which the cover rows hold with probability >= 1 - delta / 3.

    `width`: w_b, their least right side: n of (26), or min(n, m(n)) with the row of PSs. `delta`:
    in (0, 1]. `rows`: 1 for (26) alone, 2 with the row of PSs.
    """
    d = 2 * math.log(3 * rows / delta) / width
    return 1 + d / 2 + math.sqrt(d + d * d / 4)


def packing_width(slot: SlotState) -> float:
    """Return W_a over the rows in which anything fits; F if there is none.

    `slot`: state of the slot for the job.
    """
    workers, ps = slot.max_units
    units = np.maximum(
        np.where(workers[:, None] > 0, slot.job.worker, 0),
        np.where(ps[:, None] > 0, slot.job.ps, 0),
    )  # [h, r]
    used = units > 0
    return float(min(slot.job.batch, (slot.free[used] / units[used]).min(initial=np.inf)))


class GainParameters(NamedTuple):
    """The quantities behind a job's gains on the empty cluster, where its widths are largest.

    `W_b` is for its largest number of workers; with one worker it is 1.
    """

    W_a: float
    W_b: int
    log: float  # ln(3 (R H + 1) / delta), which W_a must exceed
    c: float
    d: float
    packing: float | None  # G of (31), None where there is none
    cover: float  # G of (32) with the row of PSs


def gain_parameters(instance: DmlrsInstance, job: JobAtArrival, delta: float) -> GainParameters:
    """Return the quantities behind a job's gains, at its largest number of workers.

    `delta`: in (0, 1].
    """
    capacity = arrays(instance).capacity_milli
    empty_slot = SlotState(job, capacity, np.zeros(capacity.shape))
    width = packing_width(empty_slot)
    min_right_side = int(min(job.bundles.workers[-1], job.bundles.ps[-1]))
    log = math.log(3 * (capacity.size + 1) / delta)
    return GainParameters(
        width,
        min_right_side,
        log,
        3 * log / width if width else math.inf,
        2 * math.log(6 / delta) / min_right_side,
        packing_gain(width, capacity.size, delta),
        cover_gain(min_right_side, delta, 2),
    )
