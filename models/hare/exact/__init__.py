"""What stands behind `exact` of `hare`: ours, not the paper's."""
