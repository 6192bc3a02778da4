"""Exact programs and published algorithms for scheduling ML jobs, with certified gaps."""

from importlib.metadata import version

__version__ = version("schedgap")
__all__ = ["__version__"]
