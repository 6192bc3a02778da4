"""Small `edge` instances whose optima and algorithm values are worked out by hand."""

import json
from pathlib import Path

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.generate import generate


def example(preset):
    """Return the instance of a preset without draws."""
    return EdgeInstance.from_data(generate("edge", preset=preset).to_data())


# Two edge servers (2 workers, 1 PS; delay 1) and a cloud (4, 2; delay 3). Worker-slots: j1 12
# batches of 1200 s, 600 s more split: 4 colocated, 6 split; j2 8 of 1800 s: 4; j3 4 of 900 s: 1.
# Optimum 5: j2 in slot 2 with all four edge workers (2 - 1 = 1), j1 in 3-4 with both workers of
# edge-1 (4 - 1 = 3), j3 in 3 on edge-2 (3 - 2 = 1). No job can end before its arrival + 1 (delay
# 1), and j1 needs 2 slots even with 3 workers: 2 + 1 + 1 = 4 is a bound; it needs j1 in 2-3 with
# two workers or more and j2 in 2 with four on the edge, which has four.
TOY_A = example("toy")
TOY_A_SCHEDULE = {
    "jobs": {
        "j1": {
            "start": 3, "completion": 4, "workers": {"edge-1": 2},
            "ps_server": "edge-1", "colocated": True,
        },
        "j2": {
            "start": 2, "completion": 2, "workers": {"edge-1": 2, "edge-2": 2},
            "ps_server": "edge-1", "colocated": False,
        },
        "j3": {
            "start": 3, "completion": 3, "workers": {"edge-2": 1},
            "ps_server": "edge-2", "colocated": True,
        },
    }
}  # fmt: skip

# One edge server (2 workers, 1 PS; delay 1) and a cloud (4, 1; delay 3); three jobs of 8
# mini-batches of 1800 s, 180 s more split: 4 worker-slots colocated, 4.4 split.
# Optimum 9: two on edge-1 in 2-3 and 4-5, one on the cloud in 4: 2 + 4 + 3. Before slot 4 there are
# two workers and one PS: only one job ends by 3, and none by 2; in slot 4 the cloud can end one and
# edge-1 cannot end a second (2 slots each); the third ends at 5 at best: 2 + 3 + 4.
TOY_B = example("toy-b")

# One worker and one PS, delay 1, T = 8; j1 4 slots, j2 1. Optimum 6: j2 in 2 (1), j1 in 3-6 (5).
TOY_C = example("toy-c")

# toy-b's jobs in slots 5-8, all servers ready: all three fit (two on edge-1, one on the cloud).
TOY_BATCH = example("toy-batch")

# Five drawn jobs; optimum 39, which cuts and a tree of a few nodes prove.
FIVE_JOBS = EdgeInstance.from_data(
    json.loads((Path(__file__).parents[1] / "data" / "edge-five-jobs.json").read_text())
)
