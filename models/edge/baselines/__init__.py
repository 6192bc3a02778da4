"""The policies that the paper compares its algorithms with."""
