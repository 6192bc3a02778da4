"""The schemes that the paper compares its algorithms with."""
