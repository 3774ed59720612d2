"""How large the code may be: the whole, each package beside the others, and nothing that stands in two packages."""

from tests.size import code_sizes, equal_blocks
from tests.sources import OF_THE_SOURCE

pytestmark = OF_THE_SOURCE
LINES = 67_800
"""Lines of code of all packages: lower it whenever there are fewer."""
LARGEST = {"rails": 0.22}
OTHERS = 0.18


def test_the_code_does_not_grow_beyond_its_limit() -> None:
    sizes = code_sizes()
    assert sum(sizes.values()) <= LINES, sizes


def test_no_package_holds_too_much_of_the_code() -> None:
    sizes = code_sizes()
    total = sum(sizes.values())
    assert {package: size for package, size in sizes.items() if size > total * LARGEST.get(package, OTHERS)} == {}


def test_no_code_stands_in_two_packages() -> None:
    assert equal_blocks() == []
