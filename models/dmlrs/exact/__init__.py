"""What stands behind `exact` of `dmlrs`: ours, not the paper's."""
