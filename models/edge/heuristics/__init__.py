"""Heuristics: schedules without a proof; not in the paper."""
