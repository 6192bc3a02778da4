"""Schedules without a proof: list schedules, serial schedules, local search."""
