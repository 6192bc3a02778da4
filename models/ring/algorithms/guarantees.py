"""What the paper promises of SJF-BCO; what we prove instead stands in `list_bounds`.

E24 is the paper's erratum as numbered in `paper.py`.
"""

import math
from typing import Any

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.algorithms.sjf_bco import sjf_bco
from schedgap.models.ring.rates import factors, no_schedule, rate_table


def theorem_5(instance: RingInstance) -> dict[str, Any]:
    """Return what Theorem 5 says of SJF-BCO on an instance, and whether its inequality is proved.

    Returns
    -------
    dict
        `claim` in words; `factor` = n_g phi u / l, None where it is infinite; `holds`, whether our
        own argument proves the inequality; `failed`, what it lacks, in words.

    Notes
    -----
    The printed proof is broken at every step but the last (E24); the inequality follows from
    `list_factor` where n_g >= 2 and some run was greedy. For n_g = 1 it is false.
    """
    claim = "makespan <= n_g phi (u/l) optimum (Theorem 5)"
    if reason := no_schedule(instance):
        return {"claim": claim, "factor": None, "holds": False, "failed": [reason]}
    known, failed = factors(rate_table(instance)), []
    if known.largest == 1:
        failed.append("A1: some job asks for two GPUs or more; with exact estimates the factor is "
                      "1 and list scheduling would be optimal")  # fmt: skip
    if math.isinf(known.theorem_5):
        failed.append("A2: no job can come to a standstill, else the factor is infinite")
    if sjf_bco(instance).trace["list_bound"] is None:
        failed.append("A3: some run with kappa >= n_g keeps no job from an idle GPU by its limit")
    return {
        "claim": claim,
        "factor": None if math.isinf(known.theorem_5) else known.theorem_5,
        "holds": not failed,
        "failed": failed,
    }
