"""Proofs of optimality: a prover over an engine, and a checker that needs neither."""
