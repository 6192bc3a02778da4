"""Engines: HiGHS, Gurobi, CP-SAT, cvxpy. They know programs, statuses and limits; never a job."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.solvers, not solvers")
