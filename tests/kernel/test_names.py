"""Names show what they hold."""

import pytest

from tollhouse.kernel.names import LINE_FEEDS, escape_unreadable, is_readable

HIDDEN = [
    0x00,
    0x0A,
    0x7F,
    0xAD,
    0x061C,
    0x180E,
    0x200B,
    0x200E,
    0x200F,
    0x2028,
    0x202A,
    0x202E,
    0x2060,
    0x2066,
    0x2069,
    0x3164,
    0xFEFF,
    0xE0041,
]


@pytest.mark.parametrize("code", HIDDEN, ids=hex)
def test_what_does_not_show_is_refused(code: int) -> None:
    assert not is_readable(f"Alice{chr(code)} Ltd")


@pytest.mark.parametrize(
    "name",
    [
        "Alice's Coffee",
        "Caf\u00e9 \u00dcber",
        "\u05e9\u05dc\u05d5\u05dd",
        "\u0645\u0642\u0647\u0649",
        "\u30ab\u30d5\u30a7",
        "Soci\u00e9t\u00e9\u00a0X",
        "\N{HOT BEVERAGE}",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\N{MAN}\u200d\N{PERSONAL COMPUTER}",
    ],
)
def test_every_script_is_taken(name: str) -> None:
    assert is_readable(name)


def test_texts_of_several_lines_may_break() -> None:
    assert is_readable("one\ntwo", LINE_FEEDS)
    for text in ("one\u2028two", "one\r\ntwo", "one\ttwo"):
        assert not is_readable(text, LINE_FEEDS), text


@pytest.mark.parametrize("code", [code for code in HIDDEN if code != 0x0A], ids=hex)
def test_what_was_stored_without_the_rule_is_shown_with_escapes(code: int) -> None:
    shown = escape_unreadable(f"Alice{chr(code)}\n\tLtd")
    assert shown == f"Alice\\{'u' if code < 0x10000 else 'U'}{code:0{4 if code < 0x10000 else 8}x}\n\tLtd"
    assert is_readable(shown, LINE_FEEDS | {"\t"})
