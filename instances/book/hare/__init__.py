"""The record book of family `hare`."""
