"""Bounds and schedules of family `edge` at the paper's scale: value, seconds and memory.

Run by `make bench`, or alone: `python tests/benchmarks/bench_edge_scale.py [JOBS ...]`.
"""

from scale import Row, main

from schedgap.models.edge import rules

ROWS: tuple[Row, ...] = (
    ("job-alone", {}, None),
    ("type-bound", {"block": 16}, None),
    ("type-bound", {}, None),
    ("exact", {}, 60),
    ("list", {"order": "arrival"}, None),
    ("list", {}, 60),
    ("fifo", {}, None),
    ("drf", {}, None),
    ("a-online", {}, None),
    ("a-online-earliest", {}, None),
    ("a-online-any", {}, None),
    ("a-online-no-price", {}, None),
)

if __name__ == "__main__":
    main("edge", ROWS, rules)
