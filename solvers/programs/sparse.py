"""`scipy.sparse`, imported when first used: most certificates are evaluated without a matrix."""

from typing import TYPE_CHECKING

from schedgap import lazy

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = lazy.Module("scipy.sparse")

__all__ = ["sparse"]
