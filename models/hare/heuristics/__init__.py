"""Schedules of `hare` without a proof: ours, not the paper's."""
