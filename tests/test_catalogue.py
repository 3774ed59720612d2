"""Every numbered behaviour of a finished chapter has a test that names it."""

import pytest

from tests import catalogue
from tests.sources import OF_THE_SOURCE

pytestmark = OF_THE_SOURCE
FINISHED = ("O", "P", "W", "S")


@pytest.mark.long
@pytest.mark.parametrize("prefix", FINISHED)
def test_a_finished_chapter_is_covered(prefix: str) -> None:
    assert catalogue.missing(prefix) == []
    assert catalogue.main([prefix]) == 0


def test_no_test_names_a_number_that_is_not_there() -> None:
    assert catalogue.strays() == []


def test_an_unknown_chapter_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalogue.main(["X"]) == 2
    assert "O, P, W" in capsys.readouterr().err
