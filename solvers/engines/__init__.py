"""Adapters of HiGHS, Gurobi, CP-SAT and cvxpy; what they return has one shape."""
