"""How much is tested: everything with `pytest --all`; without it nothing marked `long`, and only short runs of the models.

A test that is named, by `FILE::TEST`, runs in either case.
"""

import pytest

OPTION = "--all"


class Extent:
    """Set before the first test is imported."""

    is_whole = False

    def of(self, whole: int, *, short: int) -> int:
        """How many histories are played, and the like."""
        return whole if self.is_whole else short


EXTENT = Extent()


def add_option(parser: pytest.Parser) -> None:
    """The option of pytest."""
    parser.addoption(OPTION, action="store_true", help="run everything: also what is long, and models at full length")


def choose(config: pytest.Config) -> None:
    """Do as the option says."""
    EXTENT.is_whole = bool(config.getoption(OPTION))


def deselect_long(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is long, unless it was named."""
    if EXTENT.is_whole or any("::" in argument for argument in config.args):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
