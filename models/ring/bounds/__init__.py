"""Relaxations of `ring`, and the prices that prove them."""
