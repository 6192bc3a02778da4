"""Column generation and cutting planes around an engine."""
