"""Order of names."""

import re


def natural(text: str) -> tuple[object, ...]:
    """Return a sort key that puts J2 before J10, and alpha=0.25 before alpha=0.5."""
    parts = re.split(r"([0-9]+(?:\.[0-9]+)?)", text)
    return tuple(float(part) if index % 2 else part for index, part in enumerate(parts))
