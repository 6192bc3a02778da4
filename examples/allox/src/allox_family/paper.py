"""What of the paper is here, and a figure on random instances; the workload is ours.

We number no equations: we have the abstract and the outline of the paper only.
"""

from typing import Any

import schedgap.extend as sg
from allox_family.instance import AlloxInstance
from allox_family.rules import RULES


def queued(instance: AlloxInstance) -> dict[str, Any]:
    """Return the guarantee of AlloX on an instance: its schedule is optimal without arrivals."""
    failed = ["all jobs are queued at slot 0"] if any(instance.arrival.values()) else []
    return {"claim": "optimal", "factor": 1.0, "holds": not failed, "failed": failed}


PAPER = sg.Paper(
    citation="T. N. Le, X. Sun, M. Chowdhury, Z. Liu. AlloX: Compute Allocation in Hybrid "
    "Clusters. EuroSys, 2020.",
    doi="10.1145/3342195.3387547",
    problem="Jobs run on one CPU or one GPU each, without interruption. Minimise the total time "
    "from arrival to completion.",
    schedule='`{"jobs": [{"job": "j1", "machine": "gpu-1", "start": 0}]}`',
    rules=RULES,
    equations={
        "matching": sg.Equation("modelled", ("job", "position"), "the names of rows are ours"),
    },
    guarantees={
        "optimal": sg.Guarantee("AlloX is optimal in an ideal, offline setting", "Abstract",
                                ("allox",), ("all jobs are queued at slot 0",), queued,
                                "true: Section 3.1 is a minimum-cost matching"),
    },
    errata={
        "D1": sg.Erratum("Section 3.2", "arrivals are handled online", "we have the outline only",
                         "match all waiting jobs again whenever a machine is idle"),
        "D2": sg.Erratum("Section 3.3", "shares are fair", "another objective", "left out"),
    },
)  # fmt: skip

SERIES = {"AlloX": "allox", "best fit": "best-fit", "shortest queue": "shortest-queue",
          "shortest job": "shortest-first"}  # fmt: skip
OTHERS = tuple(SERIES)[1:]
ABSTRACT = "Abstract, Section 2"


def experiments(*, quick: bool = False) -> list[sg.Experiment]:
    """Return the figure: total completion time by the number of jobs that arrive in 30 slots."""
    values, brackets = ((10, 40), ()) if quick else ((10, 20, 30, 40), ("lp",))

    def instance(seed: int, jobs: int) -> sg.Instance:
        settings = {"jobs": jobs, "span": 30}
        return sg.generate("allox", preset="arrivals", seed=seed, settings=settings)

    def saved(draw: sg.Draw) -> float:
        x = draw.xs[-1]
        return 100 * (1 - draw.value("AlloX", x) / max(draw.value(each, x) for each in OTHERS))

    claims = (
        sg.best("AlloX", OTHERS, text="AlloX is better than each simpler policy", source=ABSTRACT),
        sg.Claim("it reduces completion times by up to 95 % when the load is high (here against "
                 "the worst policy, at the largest number of jobs)", ABSTRACT,
                 measure=saved, unit="%", threshold="ours"),
    )  # fmt: skip
    figure = sg.curves(values, range(10), instance, SERIES, family="allox", figure="load",
                       title="AlloX and simpler policies", x="jobs", brackets=brackets,
                       objective="total completion time (slots)", claims=claims)  # fmt: skip
    return [figure]


def suite() -> list[sg.Instance]:
    """Return small instances for the quick comparison."""
    presets = ("queued", "arrivals")
    return [sg.generate("allox", preset=name, seed=seed) for name in presets for seed in (1, 2)]
