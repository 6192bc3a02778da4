"""Lower bounds on the makespan of `ring`, and the certificates that prove them."""
