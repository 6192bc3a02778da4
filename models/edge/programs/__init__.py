"""The paper's programs as printed, and further formulations of the same problem."""
