"""The paper's algorithms as printed, and their guarantees."""
