"""Figures of the papers' evaluations, and verdicts on their claims."""
