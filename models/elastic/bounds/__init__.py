"""Relaxations of `elastic`, and the prices that prove them."""
