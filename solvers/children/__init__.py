"""Functions in child processes with limits of time and memory, and the clock they look at."""
