"""How much is tested: everything with `pytest --all`; without it nothing marked `long`, and only short runs of the models.

A test that is named, by `FILE::TEST`, runs in either case, and so do long folders.
"""

from collections import Counter

import pytest

OPTION = "--all"
LONG_FOLDERS = ("tests/examples/", "tests/instance/checks/", "tests/rails/", "tests/sdk/", "tests/sdk_typescript/")
"""All of their tests are long: real rails with their nodes and files, programs of others, checks of all that is stored."""


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
    folders = tuple(folder for folder in LONG_FOLDERS if not any(folder in f"{argument}/" for argument in config.args))
    long = {item for item in items if item.get_closest_marker("long") or item.location[0].startswith(folders)}
    if long:
        config.hook.pytest_deselected(items=list(long))
        items[:] = [item for item in items if item not in long]


def begin_with_slow(items: list[pytest.Item]) -> None:
    """Let groups with many long tests begin, so that no process is alone with one at the end; then the larger ones."""
    groups = {item: tuple(sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})) for item in items}
    sizes = Counter(groups.values())
    slow = Counter(groups[item] for item in items if _is_slow(item))
    items.sort(key=lambda item: (-slow[groups[item]], -sizes[groups[item]], groups[item]))


def _is_slow(item: pytest.Item) -> bool:
    """Whether it is long, in a browser, or of a group beyond its file, which share a setup that takes long."""
    return (
        item.get_closest_marker("long") is not None
        or item.get_closest_marker("browser") is not None
        or any(mark.args != (item.location[0],) for mark in item.iter_markers("xdist_group"))
    )
