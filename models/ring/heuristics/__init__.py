"""Schedules of `ring` without a proof: ours, not the paper's."""
