"""The paper's guarantee for SJF-BCO, Theorem 5; the one that we can prove is in `list_bounds`.

E24 is the erratum of that number in `paper.py`.
"""

import math

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.algorithms.sjf_bco import sjf_bco
from schedgap.models.ring.rates import guarantee_constants, no_schedule, rate_table


def theorem_5(instance: RingInstance) -> dict[str, object]:
    """Return the factor of Theorem 5 for an instance, and whether its inequality is proved.

    Returns
    -------
    dict
        `claim`: the theorem in words. `factor`: n_g phi u / l, None if infinite. `holds`: whether
        our own argument proves the inequality. `failed`: the assumptions that fail, in words.

    Notes
    -----
    Every step of the printed proof but the last is wrong (E24). The inequality follows from
    `list_factor` if n_g >= 2 and some run was greedy. For n_g = 1 it is false.
    """
    claim = "makespan <= n_g phi (u/l) optimum (Theorem 5)"
    if reason := no_schedule(instance):
        return {"claim": claim, "factor": None, "holds": False, "failed": [reason]}
    constants, failed = guarantee_constants(rate_table(instance)), []
    if constants.max_gpus == 1:
        failed.append("A1: some job asks for two GPUs or more; with exact estimates the factor is "
                      "1 and list scheduling would be optimal")  # fmt: skip
    if math.isinf(constants.theorem_5):
        failed.append(
            "A2: every job makes progress at every contention level, else the factor is infinite"
        )
    if sjf_bco(instance).trace["list_bound"] is None:
        failed.append("A3: in some run with kappa >= n_g the limit excludes no idle GPU")
    return {
        "claim": claim,
        "factor": None if math.isinf(constants.theorem_5) else constants.theorem_5,
        "holds": not failed,
        "failed": failed,
    }
