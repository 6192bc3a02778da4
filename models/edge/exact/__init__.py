"""What stands behind `exact` of `edge`: ours, not the paper's."""
