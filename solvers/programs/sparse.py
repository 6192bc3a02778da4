"""`scipy.sparse`, imported when first used: most certificates are evaluated without a matrix."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from schedgap import lazy


def _load(name: str) -> Any:
    """Import a module of SciPy without the submodules of NumPy that nobody uses.

    SciPy copies all names of NumPy, and so loads `testing`, `f2py`, `ma` and others: 0.09 s in each
    new process. They are loaded as usual when they are first used.
    """
    import numpy as np

    if name in sys.modules or not hasattr(np, "__numpy_submodules__"):
        return import_module(name)
    told = {key: getattr(np, key) for key in ("__numpy_submodules__", "__all__")}
    unused = set(told["__numpy_submodules__"]) - vars(np).keys()
    try:
        for key, names in told.items():
            setattr(np, key, type(names)(each for each in names if each not in unused))
        return import_module(name)
    finally:
        for key, names in told.items():
            setattr(np, key, names)


if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = lazy.Module("scipy.sparse", _load)

__all__ = ["sparse"]
