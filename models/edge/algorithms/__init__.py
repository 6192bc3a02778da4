"""The paper's algorithms as printed, and what is guaranteed of them."""
