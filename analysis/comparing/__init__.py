"""Many methods on many instances: compare, clusters, differences of runs, judged schedules."""
