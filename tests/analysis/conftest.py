"""Register the toy family."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import toy_family
from browser import Browser


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    toy_family.register()
    yield
    toy_family.unregister()


@pytest.fixture(scope="session")
def browse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The one browser of all tests of a worker."""
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()
