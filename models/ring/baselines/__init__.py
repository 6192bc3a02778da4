"""The baselines that the paper compares its algorithms with."""
