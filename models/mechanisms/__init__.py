"""Mechanisms that several families prove bounds and optima with; none of them knows a job."""
