"""The schemes that the paper compares its algorithm with."""
