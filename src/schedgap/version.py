"""The version of the package, imported when it is first used."""

from importlib.metadata import version

__version__ = version("schedgap")
