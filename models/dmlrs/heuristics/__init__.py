"""Schedules of `dmlrs` without a proof: ours, not the paper's."""
