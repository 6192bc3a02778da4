"""AlloX (Le et al., EuroSys 2020) as a family of `schedgap`: `schedgap methods allox`."""

from pathlib import Path

import schedgap.extend as sg
from allox_family import rules
from allox_family.instance import AlloxInstance, AlloxSchedule


def _at(name: str) -> sg.Lazy:
    """Refer to a function that is imported when it is first called."""
    return sg.Lazy(f"allox_family.{name}")


METHODS: tuple[sg.Method[AlloxInstance, AlloxSchedule], ...] = (
    sg.Method("exact", "exact", _at("exact:exact"), "the program, after AlloX and the relaxation",
              "ours", ours=True, engines=("highs",)),
    sg.Method("lp", "bound", _at("exact:lp"), "linear relaxation of the program, with its prices",
              "ours", ours=True, engines=("highs",)),
    sg.Method("allox", "algorithm", sg.Algorithm(_at("algorithms:allox")),
              "minimum-cost matching of jobs to positions, at every event", "Section 3",
              online=True),
    sg.Method("best-fit", "baseline", sg.Algorithm(_at("algorithms:best_fit")),
              "each job where it is fastest, in order of arrival", "Section 2", online=True),
    sg.Method("shortest-queue", "baseline", sg.Algorithm(_at("algorithms:shortest_queue")),
              "each job where it completes first, on arrival", "Section 2", online=True),
    sg.Method("shortest-first", "baseline", sg.Algorithm(_at("algorithms:shortest_first")),
              "the shortest waiting job on an idle machine", "Section 2", online=True),
)  # fmt: skip

FAMILY: sg.Family[AlloxInstance, AlloxSchedule] = sg.Family(
    name="allox",
    title=AlloxInstance.title,
    paper=sg.load_paper(Path(__file__).with_name("paper.toml")),
    methods=METHODS,
    sense=lambda instance: "min",
    check=rules.check,
    objective=rules.objective,
    chart=rules.chart,
    grid=lambda instance: 1.0,
    check_certificate=_at("exact:check_certificate"),
    programs={
        "matching": sg.Program("jobs to positions; exact if all are queued", "relaxation",
                               _at("programs:matching"), read=_at("programs:read"),
                               also=("paper",)),
        "time-indexed": sg.Program("jobs to starts on a kind of machine", "exact",
                                   _at("programs:time_indexed"), read=_at("programs:read"),
                                   narrow=_at("programs:narrow")),
    },
    suite=_at("figures:suite"),
    experiments=_at("figures:experiments"),
    instances=AlloxInstance,
    generator=sg.load_presets(Path(__file__).with_name("presets.toml")),
    mutations=sg.Space({"jobs": 5}, fixed=frozenset({"cpus", "gpus"})),
)  # fmt: skip
