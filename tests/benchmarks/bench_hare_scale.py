"""Bounds and schedules of family `hare` at the paper's scale: value, seconds and memory.

Run by `make bench`, or alone: `python tests/benchmarks/bench_hare_scale.py [JOBS ...]`.
"""

from scale import Row, main

from schedgap.models.hare import rules

ROWS: tuple[Row, ...] = (
    ("job-alone", {}, None),
    ("fluid-lp", {"cells": 60}, None),
    ("fluid-lp", {}, None),
    ("lagrangian", {"rounds": 0}, None),
    ("lagrangian", {}, None),
    ("hare-fluid", {}, None),
    ("hare-fluid", {"gpu_rule": "finish"}, None),
    ("gavel-fifo", {}, None),
    ("srtf", {}, None),
    ("sched-homo", {}, None),
    ("sched-allox", {}, None),
    ("local-search", {}, 120),
)

if __name__ == "__main__":
    main("hare", ROWS, rules)
