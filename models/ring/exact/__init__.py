"""What stands behind `exact` of `ring`: ours, not the paper's."""
