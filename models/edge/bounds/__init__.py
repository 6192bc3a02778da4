"""Relaxations, the prices that prove their bounds, and the certificates; not in the paper."""
