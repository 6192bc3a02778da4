"""The record book of family `elastic`."""
