"""Programs of the families as an engine's benchmark solves them."""
