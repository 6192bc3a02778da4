"""What of the paper is here. We number no equations: we have its abstract and outline only."""

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
    symbols=(),
    rules=RULES,
    equations={
        "matching": sg.Equation("modelled", ("job", "position"), "the names of rows are ours"),
    },
    algorithms={},
    guarantees={
        "optimal": sg.Guarantee("AlloX is optimal in an ideal, offline setting", "Abstract",
                                ("allox",), ("all jobs are queued at slot 0",), queued,
                                "true: Section 3.1 is a minimum-cost matching", ()),
    },
    errata={
        "D1": sg.Erratum("Section 3.2", "arrivals are handled online", "we have the outline only",
                         "match all waiting jobs again whenever a machine is idle"),
        "D2": sg.Erratum("Section 3.3", "shares are fair", "another objective", "left out"),
    },
)  # fmt: skip
