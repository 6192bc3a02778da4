"""Worked examples and counterexamples of family `hare`, small enough to solve by hand."""

from collections.abc import Mapping

from schedgap.errors import UsageError
from schedgap.instances.generate import Generated, Request
from schedgap.instances.hare.workload import MODELS, SCHEMES


def toy(request: Request) -> Generated:
    """Return three jobs on three GPUs with the totals that Fig. 1 quotes; optimum 8."""
    kinds = ("kind1", "kind2", "kind3")
    return Generated(
        _instance(
            [(f"GPU{m}", kind) for m, kind in enumerate(kinds, start=1)],
            [
                _job("J1", 1, dict(zip(kinds, (1.5, 2, 1), strict=True)), tasks=2),
                _job("J2", 1, dict(zip(kinds, (1.5, 2.5, 2), strict=True)), rounds=2),
                _job("J3", 1, dict(zip(kinds, (2, 1.5, 0.5), strict=True)), rounds=2, tasks=2),
            ],
        ),
        "a reconstruction of Fig. 1: the paper's table is an image; every total that the text"
        " quotes (10.5, 9, 8.5) is that of some schedule of this instance",
        "s",
    )


def fig4(request: Request) -> Generated:
    """Return Fig. 4: a round of three tasks against three single ones; 11 relaxed, 12.5 fixed."""
    lengths = {"i1": 1, "i2": 2, "i3": 4}
    return Generated(
        _instance(
            [(f"GPU{m}", "GPU") for m in (1, 2, 3)],
            [
                *(_job(name, 1, {"GPU": length}) for name, length in lengths.items()),
                _job("n", 1, {"GPU": 1.5}, tasks=3),
            ],
        ),
        "Fig. 4 with lengths of our choice: waiting for three idle GPUs costs 1.5",
        "s",
    )


def fig5(request: Request) -> Generated:
    """Return Fig. 5: a job of four tasks per round on four GPUs of the kinds in `mix`."""
    mix, like = request.values["mix"], MODELS["ResNet50"]
    unknown = [kind for kind in mix if kind not in like.speedups]
    if unknown or any(count != int(count) or count < 1 for count in mix.values()):
        raise UsageError("option mix: need whole numbers of " + ", ".join(like.speedups))
    gpus = [(f"{kind}-{m}", kind) for kind, n in mix.items() for m in range(1, int(n) + 1)]
    times = {kind: round(like.speedups["V100"] / like.speedups[kind], 3) for kind in mix}
    return Generated(
        _instance(gpus, [_job("ResNet", 1, times, rounds=10, tasks=4)]),
        "Fig. 5 with the speedups of ResNet50 (those of ResNet152 are not in the text); a task"
        " takes 1 on a V100; combinations of our choice",
        "tasks on a V100",
    )


def fig7(request: Request) -> Generated:
    """Return Fig. 7: a GPU on which tasks of GraphSAGE and ResNet50 alternate, a batch each."""
    names, row = ("GraphSAGE", "ResNet50"), request.values["row"]
    cells = [MODELS[name].switching[row] for name in names]
    times = [round(cell.training / 1000, 6) for cell in cells]
    jobs = []
    for name, own, other in zip(names, times, reversed(times), strict=True):
        job = _job(name, 1, {"GPU": own}, rounds=20) | {"model": name}
        jobs.append(job | {"synchronization_time": {"GPU": other}})
    fields = _instance([("GPU1", "GPU")], jobs)
    fields["switching"] = {"models": {name: _switching(name) for name in names}}
    return Generated(
        fields,
        f"Fig. 7: training times implied by row '{row}' of Table 3; each job synchronizes while"
        " the other trains",
        "s",
    )


def fig10(request: Request) -> Generated:
    """Return Fig. 10: i1 and i3 of one round with a task i2 of another job between them."""
    first = _job("n", 1, {"GPU": 5}, tasks=2) | {"model": "ResNet50"}
    second = _job("other", 2, {"GPU": 5}) | {"model": "ResNet50", "arrival": 4}
    fields = _instance([("GPU1", "GPU")], [first, second])
    fields["gpu_kinds"] = [{"id": "GPU", "memory_gb": 16}]
    fields["switching"] = {"models": {"ResNet50": _switching("ResNet50")}}
    return Generated(
        fields, "Fig. 10 with times of our choice, for which this order is optimal", "s"
    )


def _switching(name: str) -> dict[str, float]:
    """Return the switching times of a model in seconds, and its memory."""
    cells = MODELS[name].switching
    times = {scheme: round(cells[scheme].milliseconds / 1000, 8) for scheme in SCHEMES}
    return times | {"memory_gb": MODELS[name].memory_gb}


def ce1(request: Request) -> Generated:
    """Return one GPU and three unit jobs on which Lemma 2 fails; optimum 6.4."""
    weights = {"A": 1, "B": 1.1, "C": 1.2}
    return Generated(
        _one_gpu([_job(name, weight, {"kind": 1}) for name, weight in weights.items()]),
        "counterexample to Lemma 2: the relaxation has row (9) for all tasks of a GPU only",
        "s",
    )


def ce2(request: Request) -> Generated:
    """Return one GPU, a heavy job, light ones and a sponge: Theorem 4 fails; optimum 12441."""
    lights = request.values["lights"]
    return Generated(
        _one_gpu(
            [
                _job("heavy", 1000, {"kind": 11}),
                *(_job(f"light{k}", 2, {"kind": 10}) for k in range(1, lights + 1)),
                _job("sponge", 1, {"kind": 10}),
            ]
        ),
        "counterexample to Theorem 4 with the relaxation as printed: all delay goes to the sponge",
        "s",
    )


def ce3(request: Request) -> Generated:
    """Return one job whose second round H would sort before its first."""
    return Generated(
        _instance(
            [("GPU1", "fast"), ("GPU2", "slow")],
            [
                {
                    "id": "J",
                    "arrival": 0,
                    "weight": 1,
                    "task_rounds": [
                        [{"training_time": {"fast": 1, "slow": 10}}],
                        [{"training_time": {"fast": 1, "slow": 1}}],
                    ],
                }
            ],
        ),
        "counterexample to lines 4 and 10 of Algorithm 1: sorted by H alone, round 2 comes first",
        "s",
    )


def ce4(request: Request) -> Generated:
    """Return two equal GPUs on which Lemma 2 fails with every prefix row too; optimum 807."""
    return Generated(
        _instance(
            [("GPU1", "GPU"), ("GPU2", "GPU")],
            [_job("A", 100, {"GPU": 8}), _job("B", 1, {"GPU": 1}, tasks=7)],
        ),
        "counterexample to Lemma 2 with the repaired relaxation: (11) mixes y-tilde and x-hat",
        "s",
    )


def _job(
    name: str, weight: float, times: Mapping[str, float], *, rounds: int = 1, tasks: int = 1
) -> dict[str, object]:
    return {
        "id": name,
        "arrival": 0,
        "weight": weight,
        "rounds": rounds,
        "tasks_per_round": tasks,
        "training_time": dict(times),
    }


def _instance(gpus: list[tuple[str, str]], jobs: list[dict[str, object]]) -> dict[str, object]:
    kinds = dict.fromkeys(kind for _, kind in gpus)
    return {
        "gpu_kinds": [{"id": kind} for kind in kinds],
        "gpus": [{"id": name, "kind": kind} for name, kind in gpus],
        "jobs": jobs,
    }


def _one_gpu(jobs: list[dict[str, object]]) -> dict[str, object]:
    return _instance([("GPU1", "kind")], jobs)
