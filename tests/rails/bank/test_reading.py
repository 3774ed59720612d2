"""Reading statements: what each entry says and is called, and how hostile or broken files are refused."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rails.bank.camt import Line, WholeStatement, paid, read, statement
from tollhouse.rails.bank.files.camt import StatementReader
from tollhouse.rails.bank.files.xml import DOCUMENT_BYTES_MAX, NODES_MAX, SILENT_BYTES_MAX, UnreadableStatementError

EUROS = {"EUR": 2, "JPY": 0}
NAME = "RF32000000000000000001"
PLAIN = statement(paid(NAME, 1_050, bank_reference="1"))


def one(raw: bytes) -> WholeStatement:
    """The statement of a file that has one."""
    [found] = read(raw, EUROS)
    return found


def test_both_versions_say_the_same() -> None:
    lines = (paid(NAME, 1_050, words="x"), Line(7, "DBIT", bank_reference=None), Line(30, parts=(Line(10), Line(20))))
    older, newer = (one(statement(*lines, version=version)) for version in ("02", "08"))
    assert older.entries == newer.entries
    assert (older.opening_minor, older.closing_minor) == (100_000, 101_073)
    [first, *_] = older.entries
    assert (first.side, first.amount_minor, first.parts[0].structured, first.parts[0].unstructured) == (
        "credit",
        1_050,
        NAME,
        "x",
    )


def test_alike_are_counted_and_named_the_same_way_again() -> None:
    twin = paid(NAME, 500, bank_reference=None)
    both, again = one(statement(twin, twin)), one(statement(twin, twin, Line(5)))
    assert len({entry.identity for entry in both.entries}) == 2
    assert [entry.identity for entry in both.entries] == [entry.identity for entry in again.entries[:2]]


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_other_encodings(encoding: str) -> None:
    text = PLAIN.decode().replace("UTF-8", encoding)
    assert one(text.encode(encoding)) == one(PLAIN)


@pytest.mark.parametrize(
    ("text", "minor"), [("10.50", 1_050), ("10.5", 1_050), ("10.50000", 1_050), ("10", 1_000), ("0010.", 1_000), ("0.07", 7)]
)
def test_amounts_as_banks_write_them(text: str, minor: int) -> None:
    raw = statement(Line(5), first_page=True).replace(b">0.05<", f">{text}<".encode())
    assert one(raw).entries[0].amount_minor == minor


@pytest.mark.parametrize("text", ["-1.00", "1,00", "1e3", "NaN", "1.005", "9" * 19, "\u0661.00", "0x10"])
def test_what_is_no_amount(text: str) -> None:
    raw = statement(Line(5), first_page=True).replace(b">0.05<", f">{text}<".encode())
    with pytest.raises(UnreadableStatementError):
        one(raw)


def test_a_zero_in_yen_and_an_overdrawn_account() -> None:
    raw = statement(Line(500)).replace(b"EUR", b"JPY")
    assert (one(raw).entries[0].amount_minor, one(raw).entries[0].currency) == (5, "JPY")
    overdrawn = one(statement(Line(500, "DBIT"), opening=100))
    assert (overdrawn.opening_minor, overdrawn.closing_minor) == (100, -400)


def test_details_that_do_not_account_for_the_entry_are_not_believed() -> None:
    [entry] = one(statement(Line(900, parts=(paid(NAME, 400), paid(NAME, 400))))).entries
    assert [(part.amount_minor, part.structured) for part in entry.parts] == [(900, "")]


def bomb(levels: int) -> bytes:
    """An entity that means ten of the one before it, and so on."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, levels))
    return f'<!DOCTYPE Document [<!ENTITY e0 "ha">{entities}]>'.encode()


def within(prologue: bytes, word: bytes) -> bytes:
    """A statement with a document type, which uses its entity."""
    return PLAIN.replace(b"<Document", prologue + b"<Document").replace(NAME.encode(), word)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no XML": lambda: b"PK\x03\x04",
    "cut off": lambda: PLAIN[:-20],
    "another message": lambda: PLAIN.replace(b"camt.053.001.08", b"camt.052.001.08"),
    "another version": lambda: PLAIN.replace(b"camt.053.001.08", b"camt.053.001.04"),
    "no namespace": lambda: PLAIN.replace(b"urn:iso:std:iso:20022:tech:xsd:", b""),
    "a document type": lambda: within(b"<!DOCTYPE Document>", b"x"),
    "an entity": lambda: within(b'<!DOCTYPE Document [<!ENTITY a "b">]>', b"&a;"),
    "a file": lambda: within(b'<!DOCTYPE Document [<!ENTITY a SYSTEM "file:///etc/passwd">]>', b"&a;"),
    "an address": lambda: within(b'<!DOCTYPE Document [<!ENTITY a SYSTEM "http://127.0.0.1:1/">]>', b"&a;"),
    "a parameter": lambda: within(b'<!DOCTYPE Document [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>', b"x"),
    "a bomb": lambda: within(bomb(12), b"&e11;"),
    "a bomb in an attribute": lambda: within(bomb(12), b"x").replace(b'Ccy="EUR"', b'Ccy="&e11;"'),
    "an undeclared entity": lambda: PLAIN.replace(NAME.encode(), b"&nothing;"),
    "too deep": lambda: PLAIN.replace(b"<GrpHdr>", b"<GrpHdr>" + b"<a>" * 300 + b"</a>" * 300),
    "too many elements": lambda: PLAIN.replace(b"<GrpHdr>", b"<GrpHdr>" + b"<a/>" * NODES_MAX),
    "too long": lambda: PLAIN + b" " * DOCUMENT_BYTES_MAX,
    "a bomb in another encoding": lambda: within(bomb(12), b"&e11;").decode().encode("utf-16"),
    "no account": lambda: PLAIN.replace(b"<IBAN>", b"<XBAN>").replace(b"</IBAN>", b"</XBAN>"),
    "no statement": lambda: PLAIN.replace(b"<Stmt>", b"<Rpt>").replace(b"</Stmt>", b"</Rpt>"),
    "no side": lambda: PLAIN.replace(b"CRDT", b"CREDIT"),
    "no date": lambda: PLAIN.replace(b"2026-11-20</Dt></BookgDt>", b"yesterday</Dt></BookgDt>"),
    "no currency": lambda: PLAIN.replace(b' Ccy="EUR"', b""),
    "an unknown currency": lambda: PLAIN.replace(b'Ccy="EUR"', b'Ccy="XXX"'),
    "a changed amount": lambda: PLAIN.replace(b">10.50<", b">1000000.50<"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(UnreadableStatementError) as refused:
        read(HOSTILE[name](), EUROS)
    assert "root:" not in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_tag_without_end_is_refused_before_all_of_it_is_read() -> None:
    reader = StatementReader(EUROS)
    reader.feed(PLAIN[: PLAIN.index(b"<GrpHdr>")] + b"<a ")
    reader.feed(b" " * SILENT_BYTES_MAX)
    with pytest.raises(UnreadableStatementError, match="not well-formed"):
        reader.feed(b" ")


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_pieces_of_any_size_are_the_same_file(size: int) -> None:
    reader = StatementReader(EUROS)
    found = [its for start in range(0, len(PLAIN), size) for its in reader.feed(PLAIN[start : start + size])]
    [read_in_pieces], whole = reader.close(), one(PLAIN)
    assert (tuple(its.entry for its in found), read_in_pieces.closing_minor) == (whole.entries, whole.closing_minor)


def test_declarations_in_another_file_are_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"  # nobody writes to it, so that reading it would not end
    os.mkfifo(pipe)
    with pytest.raises(UnreadableStatementError, match="has a document type"):
        read(within(f'<!DOCTYPE Document SYSTEM "{pipe}">'.encode(), b"x"), EUROS)


def test_what_is_written_around_a_reference_is_shown_on_one_printable_line() -> None:
    raw = statement(Line(5, words="a\u009b31m\n\tb" + "c" * 1_000, bank_reference=None))
    words = one(raw).entries[0].parts[0].unstructured
    assert (words[:10], len(words)) == ("a 31m bccc", 500)


@settings(deadline=None)
@given(st.data())
def test_a_garbled_file_is_read_or_refused(data: Any) -> None:
    raw = bytearray(PLAIN)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    with contextlib.suppress(UnreadableStatementError):
        read(bytes(raw), EUROS)
