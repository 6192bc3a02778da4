"""A local search that families share, and its compiler; nothing here knows what a job does."""
