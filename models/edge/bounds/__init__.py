"""Relaxations of `edge`, and the prices that prove them."""
