"""Reading bank statements (ISO 20022 camt.053, versions 02 and 08): their entries, with a permanent identity for each."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Literal

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import parse_time
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text
from tollhouse.rails.bank.xml import Node, UnreadableStatementError, parse

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:camt.053.001."
VERSIONS = ("02", "08")
NO_REFERENCE = frozenset({"NONREF", "NOTPROVIDED", "NOT PROVIDED", "NOTPROVIDED."})
"""Placeholders that banks write for missing values."""

RETURNED = "RRTN"
WORDS_CHARS_MAX = 2_000
OPENING, CLOSING = ("OPBD", "PRCD"), ("CLBD",)
Side = Literal["credit", "debit"]


class Part(Struct, frozen=True, kw_only=True):
    """One transfer of an entry, as sender and banks described it.

    `return_reason` is a code such as AC04 for a returned transfer, empty if the bank gave none; None if it is no return.
    `sent_at` is when the payer's bank accepted the transfer, which few banks state.
    """

    amount_minor: int
    end_to_end_id: str | None = None
    bank_reference: str | None = None
    structured: str = ""
    unstructured: str = ""
    other_name: str | None = None
    other_iban: str | None = None
    return_reason: str | None = None
    sent_at: datetime | None = None


class Entry(Struct, frozen=True, kw_only=True):
    """One booked entry of an account. A reversal undoes an earlier entry of the opposite side.

    `parts` add up to the entry: a batch without details is one part with `batch_id` alone.
    `identity` is the same in every statement that contains this entry.
    """

    identity: bytes
    side: Side
    amount_minor: int
    currency: str
    booked_on: date
    is_reversal: bool
    batch_id: str | None
    bank_reference: str | None
    parts: tuple[Part, ...]

    @property
    def undoes(self) -> bool:
        """Whether it undoes an earlier transfer."""
        return self.is_reversal or any(part.return_reason is not None for part in self.parts)


class Page(Struct, frozen=True):
    """Where a page is among those of a statement or file."""

    is_first: bool
    is_last: bool


class Statement(Struct, frozen=True, kw_only=True):
    """A statement of one account. Balances are None if the bank omitted them; negative is overdrawn.

    `closing_on` is the day of the closing balance, or of the last entry if the bank omitted it. One of several pages has an
    opening balance only if it is the first, and a closing balance only if it is the last. `currency` is None if it is stated
    nowhere.
    """

    iban: str
    statement_id: str
    currency: str | None
    opening_minor: int | None
    closing_minor: int | None
    closing_on: date | None
    entries: tuple[Entry, ...]


def read(raw: bytes, decimals: Mapping[str, int]) -> list[Statement]:
    """The statements of a file. `decimals` is the number of decimals of each currency.

    Raises `UnreadableStatementError` if it is not a statement, has an unknown currency or does not add up.
    """
    space, root = parse(raw)
    if space not in {NAMESPACE + version for version in VERSIONS}:
        raise UnreadableStatementError("The file is not a camt.053.001.02 or camt.053.001.08 statement.")
    pages = root.one("BkToCstmrStmt/GrpHdr/MsgPgntn")
    statements = [_statement(one, pages, decimals) for one in root.all("BkToCstmrStmt/Stmt")]
    if not statements:
        raise UnreadableStatementError("The file contains no statement.")
    return statements


def _statement(node: Node, pages: Node | None, decimals: Mapping[str, int]) -> Statement:
    iban, statement_id = node.text("Acct/Id/IBAN"), node.text("Id")
    if iban is None or statement_id is None:
        raise UnreadableStatementError("A statement has no account IBAN or no ID.")
    seen: Counter[bytes] = Counter()
    entries = tuple(
        _entry(one, iban, seen, decimals) for one in node.all("Ntry") if one.text("Sts/Cd", "Sts") in {"BOOK", None}
    )
    page = _page(node.one("StmtPgntn")), _page(pages)
    opening, closing = _balance(node, OPENING, decimals), _balance(node, CLOSING, decimals)
    statement = Statement(
        iban=iban,
        statement_id=statement_id,
        currency=_currency(node, statement_id, entries),
        opening_minor=opening if all(one.is_first for one in page) else None,
        closing_minor=closing if all(one.is_last for one in page) else None,
        closing_on=_closing_day(node) or max((entry.booked_on for entry in entries), default=None),
        entries=tuple(entry for entry in entries if entry.amount_minor),
    )
    if statement.opening_minor is not None and statement.closing_minor is not None:
        moved = sum(one.amount_minor if one.side == "credit" else -one.amount_minor for one in statement.entries)
        if statement.opening_minor + moved != statement.closing_minor:
            raise UnreadableStatementError(
                Text(
                    "Statement %(statement_id)s does not add up: the opening balance plus the entries is not the "
                    "closing balance.",
                    statement_id=statement_id,
                )
            )
    return statement


def _entry(node: Node, iban: str, seen: Counter[bytes], decimals: Mapping[str, int]) -> Entry:
    amount_minor, currency = _amount(node, "Amt", decimals)
    side, booked_on = _side(node), _date(node, "BookgDt") or _date(node, "ValDt")
    if booked_on is None:
        raise UnreadableStatementError("An entry has no date.")
    details = [one for group in node.all("NtryDtls") for one in group.all("TxDtls")]
    parts = _parts(details, side, amount_minor, node, decimals)
    bank_reference = _reference(node.text("AcctSvcrRef"))
    key = [iban, currency, side, amount_minor, booked_on.isoformat()]
    if bank_reference is not None:
        name = msgspec.json.encode([*key, bank_reference])
    else:
        name = msgspec.json.encode([*key, [_values(part) for part in parts]])
    # Equal entries are distinct: they are numbered in the order of the file.
    nth, seen[name] = seen[name], seen[name] + 1
    return Entry(
        identity=hashlib.sha256(name + b"%d" % nth).digest(),
        side=side,
        amount_minor=amount_minor,
        currency=currency,
        booked_on=booked_on,
        is_reversal=node.text("RvslInd") in {"true", "1"},
        batch_id=_reference(node.text("NtryDtls/Btch/PmtInfId", "NtryDtls/TxDtls/Refs/PmtInfId")),
        bank_reference=bank_reference,
        parts=parts,
    )


def _parts(details: list[Node], side: Side, amount_minor: int, entry: Node, decimals: Mapping[str, int]) -> tuple[Part, ...]:
    """The transfers of an entry if they add up to it; otherwise one part with the facts of the entry."""
    text = entry.text("AddtlNtryInf") or ""
    whole = Part(amount_minor=amount_minor, unstructured=text, return_reason=_return_reason(entry))
    if not details:
        return (whole,)
    if len(details) == 1:
        return (_part(details[0], side, amount_minor),)
    amounts = [_detail_minor(one, decimals) for one in details]
    if None in amounts or sum(minor or 0 for minor in amounts) != amount_minor:
        return (whole,)
    if any(_opposed(one, side) for one in details):
        return (whole,)
    return tuple(_part(one, side, minor) for one, minor in zip(details, amounts, strict=True) if minor)


def _part(node: Node, side: Side, amount_minor: int) -> Part:
    other = "Dbtr" if side == "credit" else "Cdtr"
    return Part(
        amount_minor=amount_minor,
        end_to_end_id=_reference(node.text("Refs/EndToEndId")),
        bank_reference=_reference(node.text("Refs/AcctSvcrRef", "Refs/TxId")),
        structured=" ".join(one.own_text() for one in node.all("RmtInf/Strd/CdtrRefInf/Ref"))[:WORDS_CHARS_MAX],
        unstructured=" ".join(_free_text(node))[:WORDS_CHARS_MAX],
        other_name=node.text(f"RltdPties/{other}/Pty/Nm", f"RltdPties/{other}/Nm"),
        other_iban=node.text(f"RltdPties/{other}Acct/Id/IBAN"),
        return_reason=_return_reason(node),
        sent_at=_instant(node, "RltdDts/AccptncDtTm"),
    )


def _return_reason(node: Node) -> str | None:
    returned = node.one("RtrInf")
    if returned is not None:
        return returned.text("Rsn/Cd", "Rsn/Prtry") or ""
    return "" if node.text("BkTxCd/Domn/Fmly/SubFmlyCd") == RETURNED else None


def _values(part: Part) -> list[object]:
    """The identity of a transfer for which the bank gives none. Stored ids are derived from it, so it must not change."""
    members = (part.end_to_end_id, part.bank_reference, part.structured, part.unstructured)
    return [part.amount_minor, *members, part.other_name, part.other_iban, part.return_reason]


def _free_text(node: Node) -> Iterator[str]:
    for path in ("RmtInf/Ustrd", "RmtInf/Strd/AddtlRmtInf"):
        yield from (one.own_text() for one in node.all(path))


def _detail_minor(node: Node, decimals: Mapping[str, int]) -> int | None:
    for path in ("Amt", "AmtDtls/TxAmt/Amt"):
        if node.one(path) is not None:
            return _amount(node, path, decimals)[0]
    return None


def _opposed(node: Node, side: Side) -> bool:
    return node.text("CdtDbtInd") is not None and _side(node) != side


def _balance(node: Node, wanted: tuple[str, ...], decimals: Mapping[str, int]) -> int | None:
    found = _balance_node(node, wanted)
    if found is None:
        return None
    minor, _ = _amount(found, "Amt", decimals)
    return minor if _side(found) == "credit" else -minor


def _closing_day(node: Node) -> date | None:
    found = _balance_node(node, CLOSING)
    return None if found is None else _date(found, "Dt")


def _balance_node(node: Node, wanted: tuple[str, ...]) -> Node | None:
    for code in wanted:
        for one in node.all("Bal"):
            if one.text("Tp/CdOrPrtry/Cd") == code and one.text("Tp/SubTp/Cd") != "INTM":
                return one
    return None


def _amount(node: Node, path: str, decimals: Mapping[str, int]) -> tuple[int, str]:
    found = node.one(path)
    currency = None if found is None else found.attribute("Ccy")
    if found is None or currency is None:
        raise UnreadableStatementError("An amount or its currency is missing.")
    if currency not in decimals:
        raise UnreadableStatementError(Text("The currency %(currency)s is not supported.", currency=repr(currency[:12])))
    text = found.own_text()
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    text = text.lstrip("0")
    if not text:
        return 0, currency
    if text.startswith("."):
        text = "0" + text
    minor = parse_amount(text, decimals[currency])
    if minor is None:
        raise UnreadableStatementError(
            Text("%(own_text)s is not an amount in %(currency)s.", own_text=repr(found.own_text()[:40]), currency=currency)
        )
    return minor, currency


def _side(node: Node) -> Side:
    match node.text("CdtDbtInd"):
        case "CRDT":
            return "credit"
        case "DBIT":
            return "debit"
        case _:
            raise UnreadableStatementError("An amount has no credit or debit indicator.")


def _date(node: Node, path: str) -> date | None:
    text = node.text(f"{path}/Dt", f"{path}/DtTm")
    try:
        return None if text is None else date.fromisoformat(text[:10])
    except ValueError:
        raise UnreadableStatementError(Text("%(text)s is not a date.", text=repr(text))) from None


def _instant(node: Node, path: str) -> datetime | None:
    """The time at this path; None if it is missing, unreadable, or in a time zone that it does not state."""
    return parse_time(node.text(path) or "")


def _reference(text: str | None) -> str | None:
    return None if text is None or text.upper() in NO_REFERENCE else text


def _page(node: Node | None) -> Page:
    if node is None:
        return Page(is_first=True, is_last=True)
    return Page(is_first=node.text("PgNb") in {"1", None}, is_last=node.text("LastPgInd") in {"true", "1", None})


def _currency(node: Node, statement_id: str, entries: Sequence[Entry]) -> str | None:
    """The one currency of a statement: an account in several has a statement for each."""
    amounts = [one.one("Amt") for one in node.all("Bal")]
    stated = {node.text("Acct/Ccy"), *(one.attribute("Ccy") for one in amounts if one is not None)} - {None}
    found = stated | {entry.currency for entry in entries}
    if len(found) > 1:
        raise UnreadableStatementError(
            Text(
                "Statement %(statement_id)s has amounts in more than one currency: %(currencies)s.",
                statement_id=statement_id,
                currencies=", ".join(sorted(filter(None, found))),
            )
        )
    return next(iter(found), None)
