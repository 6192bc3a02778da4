"""The record book of family `ring`."""
