"""Relaxations of `hare`, and the prices that prove them."""
