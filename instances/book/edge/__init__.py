"""The record book of family `edge`."""
