"""Worked examples of family `hare` that settings change or tables give; see `presets.toml`."""

from schedgap.errors import UsageError
from schedgap.instances.generate import Generated, Request
from schedgap.instances.hare.workload import MODELS, Draft


def fig5(request: Request) -> Generated:
    """Return preset `fig5`."""
    mix, like = request.values["mix"], MODELS["ResNet50"]
    unknown = [kind for kind in mix if kind not in like.speedups]
    if unknown or any(count != int(count) or count < 1 for count in mix.values()):
        raise UsageError("option mix: need whole numbers of " + ", ".join(like.speedups))
    gpus = [(f"{kind}-{m}", kind) for kind, n in mix.items() for m in range(1, int(n) + 1)]
    times = {kind: round(like.speedups["V100"] / like.speedups[kind], 3) for kind in mix}
    return Generated(
        _instance(gpus, [Draft("ResNet", 0, 1, 10, 4, times).to_data()]),
        "Fig. 5 with the speedups of ResNet50 (those of ResNet152 are not in the text); a task"
        " takes 1 on a V100; combinations of our choice",
        "tasks on a V100",
    )


def fig7(request: Request) -> Generated:
    """Return preset `fig7`."""
    names, row = ("GraphSAGE", "ResNet50"), request.values["row"]
    times = [round(MODELS[name].switching[row].training / 1000, 6) for name in names]
    jobs = [
        Draft(name, 0, 1, 20, 1, {"GPU": own}).to_data()
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
                Draft(name, 0, weight, 1, 1, {"kind": time}).to_data()
                for name, weight, time in (("heavy", 1000, 11), *lights, ("sponge", 1, 10))
            ],
        ),
        "counterexample to Theorem 4 with the relaxation as printed: all delay goes to the sponge",
        "s",
    )


def _instance(gpus: list[tuple[str, str]], jobs: list[dict[str, object]]) -> dict[str, object]:
    """Return the fields of an instance; a GPU has a name and a kind."""
    return {
        "gpu_kinds": [{"id": kind} for kind in dict.fromkeys(kind for _, kind in gpus)],
        "gpus": [{"id": name, "kind": kind} for name, kind in gpus],
        "jobs": jobs,
    }
