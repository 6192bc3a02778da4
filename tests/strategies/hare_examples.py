"""Small `hare` instances whose optima and algorithm values are worked out by hand."""

from schedgap.instances.hare import HareInstance
from strategies.hare import instance_of

# Optimum 8: J1 on GPU3 [0, 1] and GPU2 [0, 2]; J3 on GPU3 [1, 3], four tasks of 0.5; J2 on GPU1
# [0, 3]; C = (2, 3, 3). alpha = 4 (J3: 2 / 0.5).
TOY = instance_of(
    {"GPU1": "kind1", "GPU2": "kind2", "GPU3": "kind3"},
    [
        {"rounds": rounds, "tasks_per_round": tasks, "training_time": times}
        for rounds, tasks, times in [
            (1, 2, {"kind1": 1.5, "kind2": 2, "kind3": 1}),
            (2, 1, {"kind1": 1.5, "kind2": 2.5, "kind3": 2}),
            (2, 2, {"kind1": 2, "kind2": 1.5, "kind3": 0.5}),
        ]
    ],
    "toy",
)


def one_task(length: float, weight: float = 1, **more: object) -> dict[str, object]:
    """Return a job of one task on GPUs of kind `k`."""
    return {
        "weight": weight,
        "rounds": 1,
        "tasks_per_round": 1,
        "training_time": {"k": length},
    } | more


# Lemma 2 fails by (9) on the full set only: RL 6.3, optimum 1 x 1.2 + 2 x 1.1 + 3 x 1 = 6.4.
THREE_UNIT_TASKS = instance_of({"g": "k"}, [one_task(1, weight) for weight in (1, 1.1, 1.2)])


def lights_and_sponge(lights: int = 10) -> HareInstance:
    """Theorem 4 fails for the literal relaxation: `heavy`, then `lights` tasks, then a `sponge`.

    Smith's order is optimal: 1000 x 11 + 2 sum (11 + 10 k) + (21 + 10 lights); for 10 lights
    11000 + 2 (110 + 550) + 121 = 12441. Lights first: sum 2 x 10 k = 1100, heavy 111 x 1000,
    sponge 121: 112221.
    """
    return instance_of(
        {"g": "k"}, [one_task(11, 1000), *(one_task(10, 2) for _ in range(lights)), one_task(10, 1)]
    )


# Lemma 2 fails by mixing two solutions: A (w 100, one task of 8) and B (w 1, one round of 7 unit
# tasks) on two GPUs. Optimum 807: A on its own GPU (800), B on the other (7).
TWO_GPUS = instance_of(
    {"g1": "k", "g2": "k"},
    [one_task(8, 100), {"rounds": 1, "tasks_per_round": 7, "training_time": {"k": 1}}],
)

# Sorting by H alone starts round 2 before its barrier: cmax 10 then 1, x_hat 0 and 1 give
# H = 5 and 1.5. Optimum 2: both rounds on f.
UNLIKE_ROUNDS = instance_of(
    {"gf": "f", "gs": "s"},
    [{"task_rounds": [[{"training_time": {"f": 1, "s": slow}}] for slow in (10, 1)]}],
)

# Fig. 4: relaxed 1 + 2 + 4 + 4 = 11 (n on GPU1 at 1 and 2.5 and on GPU2 at 2); with fixed
# synchronization n waits for all three GPUs until 4: 1 + 2 + 4 + 5.5 = 12.5.
FIGURE_4 = instance_of(
    {"GPU1": "k", "GPU2": "k", "GPU3": "k"},
    [
        *(one_task(length) for length in (1, 2, 4)),
        {"rounds": 1, "tasks_per_round": 3, "training_time": {"k": 1.5}},
    ],
)
