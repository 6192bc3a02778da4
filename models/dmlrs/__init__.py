"""Family `dmlrs`: PD-ORS and what stands beside it."""
