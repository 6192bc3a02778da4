"""What a method returned: solutions, the bounds that close them, verification of files."""
