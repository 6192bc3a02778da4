"""What stands behind `exact` of `elastic`: ours, not the paper's."""
