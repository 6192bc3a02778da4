"""Register the toy family."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import toy_family


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    toy_family.register()
    yield
    toy_family.unregister()
