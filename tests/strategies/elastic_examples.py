"""Small `elastic` instances whose optima and algorithm values are worked out by hand."""

from schedgap.instances.elastic import ElasticInstance
from strategies.elastic import instance_of

HALF = {"train_time": {"w1": 0.5}, "update_time": {"p1": 0.0}, "gradient_size": 0.25}
J1 = {"weight": 3, "epochs": 2, "chunks": 3, "batches_per_chunk": 2, **HALF}
J2 = {"arrival": 2, "weight": 5, "chunks": 2, "batches_per_chunk": 2, **HALF}

# j1: work 12; central 0.5 slots per mini-batch, 6 worker-slots: N = 1 d = 6, N = 2 d = 3 (three
# workers do not fit on 2 GPUs); split 0.5 + 2 x 0.25 / 1 = 1, 12 worker-slots: N = 2 d = 6, N = 3
# d = 4. j2: work 4; central N = 2 d = 1, split N = 2 d = 2.
# Optimum 27: j1 in slots 1-3 on one server (c = 4, 12), j2 in slot 2 on the other (c = 3, 15).
TOY = instance_of([J1, J2], name="toy")
TOY_SCHEDULE = {
    "mode": "nonpreemptive",
    "jobs": {
        "j1": {
            "start": 1, "duration": 3, "worker_type": "w1", "ps_type": "p1",
            "workers": {"s1": 2}, "ps": {"s1": 1},
        },
        "j2": {
            "start": 2, "duration": 1, "worker_type": "w1", "ps_type": "p1",
            "workers": {"s2": 2}, "ps": {"s2": 1},
        },
    },
}  # fmt: skip

# Only s1, all at slot 1, deadline 4: j1 needs slots 1-3 with both GPUs, so j1 and j2 exclude each
# other. Optimum 5 (j2); in list order at zero prices j1 is taken first: 3.
BATCH = instance_of(
    [J1, {**J2, "arrival": 1}],
    objective="scheduled_weight",
    deadline=4,
    servers=[{"id": "s1", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 6}}],
    name="batch",
)

# Work 12, v = 0.5, U = 0.2, pi = 0.5, b = 1, D = 4 on the toy's servers, 1/rho by (14):
# central N = 1: 0.5, 6 -> d 6; N = 2: 0.5 + 0.1 = 0.6, 7.2 / 2 = 3.6 -> 4.
# split N = 2: 0.6 + 2 x 0.5 x 1/2 = 1.1, 13.2 / 2 = 6.6 -> 7; N = 3: 0.5 + 0.4/3 + 2/3 = 1.3,
# 15.6 / 3 = 5.2 -> 6; N = 4: 0.5 + 0.15 + 0.75 = 1.4, 16.8 / 4 = 4.2 -> 5.
# More workers are slower; the best is N = 2 central, c = 1 + 4 = 5.
RING_JOB = {
    "epochs": 3, "chunks": 4, "gradient_size": 0.5, "train_time": {"w1": 0.5}, "update_time": 0.2,
}  # fmt: skip
RING = instance_of([RING_JOB], architecture="ring_allreduce", name="ring")
RING_DURATIONS = {(1, True): 6, (2, True): 4, (2, False): 7, (3, False): 6, (4, False): 5}


def theorem_1(gpu: float = 1, cpu: float = 2, bandwidth: float = 3) -> ElasticInstance:
    """Theorem 1 fails: one job of two workers for one slot, b = B = 1; prices for one slot.

    Server A has 2 GPUs and no CPU, a worker costs 1 there; on server B a worker costs 2, a PS 10.
    Cheap servers first: both workers on A, 2 PSs on B, 2 + 20 = 22. One worker on each and 1 PS on
    B: 1 + 2 + 10 = 13. With B = (1 GPU, 1 CPU, bandwidth 2) cheap servers first finds nothing.
    """
    return instance_of(
        [{"chunks": 2, "train_time": {"w": 1.0}, "update_time": {"p": 0.0}}],
        servers=[
            {"id": "A", "capacity": {"gpu": 2, "bandwidth": 2}},
            {"id": "B", "capacity": {"gpu": gpu, "cpu": cpu, "bandwidth": bandwidth}},
        ],
        worker_types=[{"id": "w", "demand": {"gpu": 1, "bandwidth": 1}}],
        ps_types=[{"id": "p", "demand": {"cpu": 1, "bandwidth": 1}}],
        name="theorem 1",
    )


THEOREM_1_PRICES = {"worker": {"A": 1.0, "B": 2.0}, "ps": {"A": 0.0, "B": 10.0}}
