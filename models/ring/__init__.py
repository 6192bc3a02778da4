"""Family `ring`: ring-all-reduce jobs under communication contention, makespan."""
