"""The steps of the papers' algorithms, one module for each family, to take an algorithm apart.

The functions are those that the algorithms call; docs/steps.md lists them. Besides the
instance, arguments are arrays and records of the family, as the steps before return them.

>>> from schedgap.steps.ring import rate_table, simulate
"""
