"""The paper's programs as printed, and ours for the same problem."""
