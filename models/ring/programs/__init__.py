"""The paper's programs as printed, and our own programs for the same problem."""
