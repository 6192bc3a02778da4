"""What the package says of itself: lists of families and methods, pages of the documentation."""
