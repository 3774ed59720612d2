"""Texts in the database are the same when they are read again, so that pages can translate them."""

from datetime import date
from decimal import Decimal

import pytest

from tollhouse.kernel.text import Text, Translatable, dump_text, load_text


@pytest.mark.parametrize(
    "text",
    [
        "Choose a file.",
        Text("From %(least)s to %(most)s.", least=1, most=10_000),
        Text("%(amount)s of %(name)s: %(why)s", amount=Decimal("1.50"), name="RF 1", why=Text("No %(a)s", a="b")),
    ],
)
def test_what_was_stored_is_read(text: Translatable) -> None:
    assert load_text(dump_text(text)) == text


def test_a_day_is_read_as_it_is_written() -> None:
    assert str(load_text(dump_text(Text("On %(day)s", day=date(2026, 11, 23))))) == "On 2026-11-23"
