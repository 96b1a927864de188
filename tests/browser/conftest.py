from __future__ import annotations

import pytest
from tests.browser.chromium import Watched, a_browser


@pytest.fixture(scope="module")
def browser():
    with a_browser() as found:
        yield found


@pytest.fixture
def chrome(browser):
    """Make pages with options of one's own; at the end nothing may have complained or gone elsewhere."""
    made: list[Watched] = []

    def make(**options) -> Watched:
        made.append(Watched(browser, **options))
        return made[-1]

    yield make
    for each in made:
        each.context.close()
        assert each.complaints == []
