"""Relaxations of `dmlrs`, and the prices that prove them."""
