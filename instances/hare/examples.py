"""Worked examples of family `hare` that settings change or tables give; see `presets.toml`."""

from collections.abc import Mapping

from schedgap.errors import UsageError
from schedgap.instances.generate import Generated, Request
from schedgap.instances.hare.workload import MODELS


def fig5(request: Request) -> Generated:
    """Return preset `fig5`."""
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
    """Return preset `fig7`."""
    names, row = ("GraphSAGE", "ResNet50"), request.values["row"]
    times = [round(MODELS[name].switching[row].training / 1000, 6) for name in names]
    jobs = [
        _job(name, 1, {"GPU": own}, rounds=20)
        | {"model": name, "synchronization_time": {"GPU": other}}
        for name, own, other in zip(names, times, reversed(times), strict=True)
    ]
    switching = {"models": {name: MODELS[name].switching_times() for name in names}}
    return Generated(
        {**_instance([("GPU1", "GPU")], jobs), "switching": switching},
        f"Fig. 7: training times implied by row '{row}' of Table 3; each job synchronizes while"
        " the other trains",
        "s",
    )


def ce2(request: Request) -> Generated:
    """Return preset `ce2`."""
    lights = [(f"light{k}", 2, 10) for k in range(1, request.values["lights"] + 1)]
    return Generated(
        _instance(
            [("GPU1", "kind")],
            [
                _job(name, weight, {"kind": time})
                for name, weight, time in (("heavy", 1000, 11), *lights, ("sponge", 1, 10))
            ],
        ),
        "counterexample to Theorem 4 with the relaxation as printed: all delay goes to the sponge",
        "s",
    )


def _job(
    name: str, weight: int, times: Mapping[str, float], *, rounds: int = 1, tasks: int = 1
) -> dict[str, object]:
    """Return a job that arrives at 0; `times`: training times by kind."""
    shape = {"rounds": rounds, "tasks_per_round": tasks, "training_time": times}
    return {"id": name, "arrival": 0, "weight": weight, **shape}


def _instance(gpus: list[tuple[str, str]], jobs: list[dict[str, object]]) -> dict[str, object]:
    """Return the fields of an instance; a GPU has a name and a kind."""
    return {
        "gpu_kinds": [{"id": kind} for kind in dict.fromkeys(kind for _, kind in gpus)],
        "gpus": [{"id": name, "kind": kind} for name, kind in gpus],
        "jobs": jobs,
    }
