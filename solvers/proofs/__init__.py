"""Proofs of optimality: a prover that uses an engine, and a checker that uses neither of them."""
