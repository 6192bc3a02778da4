"""How methods of every kind are run: prepare, run in a child process, read and verify."""
