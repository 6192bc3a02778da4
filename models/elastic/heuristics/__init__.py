"""Schedules of `elastic` without a proof: ours, not the paper's."""
