"""Schedules of `edge` without a proof: ours, not the paper's."""
