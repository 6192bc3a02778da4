"""The record book of family `dmlrs`."""
