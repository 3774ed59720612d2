"""Reading files of banks: statements (ISO 20022 camt.053), notifications (camt.054) and status reports (pain.002).

Of statements and notifications, versions 02 and 08 are read. Their entries have a permanent identity, the same in both.
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import date, datetime

import msgspec
from msgspec import Struct

from tollhouse.kernel.bank_codes import PostalAddress, parse_bic, read_address
from tollhouse.kernel.clock import parse_time
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, as_text
from tollhouse.rails.bank.files.batch import ADDRESS_ELEMENTS
from tollhouse.rails.bank.files.statement import (
    REPORT_PATH,
    Entry,
    EntryHead,
    ImportKind,
    Part,
    ReadEntry,
    Repeat,
    Side,
    Statement,
    StatusReport,
    is_report,
    read_report,
    resolve_repeats,
)
from tollhouse.rails.bank.files.xml import Node, Taker, UnreadableStatementError, XmlReader

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:"
STATEMENTS = {NAMESPACE + name for name in ("camt.053.001.02", "camt.053.001.08")}
NOTIFICATIONS = {NAMESPACE + name for name in ("camt.054.001.02", "camt.054.001.08")}
NO_REFERENCE = frozenset({"NONREF", "NOTPROVIDED", "NOT PROVIDED", "NOTPROVIDED."})
"""Placeholders that banks write for missing values."""

RETURNED = "RRTN"
WORDS_CHARS_MAX = 2_000
STATEMENTS_MAX, ENTRIES_MAX = 1_000, 250_000
OPENING, CLOSING = ("OPBD", "PRCD"), ("CLBD",)


class Page(Struct, frozen=True):
    """Where a page is among those of a statement or file."""

    is_first: bool
    is_last: bool


class _Open:
    """The statement that is being read."""

    def __init__(self, node: Node) -> None:
        iban, statement_id = node.text("Acct/Id/IBAN"), node.text("Id")
        if iban is None or statement_id is None:
            raise UnreadableStatementError("A statement has no account IBAN or no ID.")
        self.iban, self.statement_id = iban, statement_id
        self.heads: list[EntryHead] = []
        self.nth = 0
        self.seen: dict[bytes, int] = {}
        self.currencies: set[str] = set()
        self.last_on: date | None = None


class StatementReader:
    """Reads the statements, notifications or report of a file from its pieces.

    `decimals` is the number of decimals of each currency. A notification is a statement without balances. Raises
    `UnreadableStatementError` if the file is none of them, has an unknown currency or does not add up.
    """

    def __init__(self, decimals: Mapping[str, int]) -> None:
        self.statements: list[Statement] = []
        self.entries = 0
        self._decimals = decimals
        self._open: _Open | None = None
        self._found: list[ReadEntry] = []
        self._repeats: list[Repeat] = []
        self.dropped: list[Repeat] = []
        """Entries that were read and are no entries of their own; known when the last piece was read."""
        self.kind: ImportKind = "statement"
        self.report: StatusReport | None = None
        takers: dict[tuple[str, ...], Taker] = {REPORT_PATH: self._take_report}
        for path in (("BkToCstmrStmt", "Stmt"), ("BkToCstmrDbtCdtNtfctn", "Ntfctn")):
            takers |= {path: self._take_statement, (*path, "Ntry"): self._take_entry}
        self._xml = XmlReader(self._begin, takers)

    def feed(self, piece: bytes) -> list[ReadEntry]:
        """The entries that end in the next piece."""
        self._xml.feed(piece)
        found, self._found = self._found, []
        return found

    def close(self) -> list[Statement]:
        """The statements, when the last piece was read."""
        self._xml.close()
        if not self.statements and self.report is None:
            raise UnreadableStatementError("The file contains no statement.")
        self.statements, self.dropped = resolve_repeats(self.statements, self._repeats)
        return self.statements

    def _begin(self, space: str) -> None:
        if space in NOTIFICATIONS:
            self.kind = "notification"
        elif is_report(space):
            self.kind = "report"
        elif space not in STATEMENTS:
            raise UnreadableStatementError(
                "The file is not a camt.053.001.02 or camt.053.001.08 statement, a camt.054 notification of these versions, "
                "or a pain.002.001.03 or pain.002.001.10 status report."
            )

    def _take_report(self, node: Node, _: list[Node]) -> None:
        if self.report is not None or self.kind != "report":
            raise UnreadableStatementError("The file has more than one message.")
        self.report = read_report(node)

    def _take_entry(self, node: Node, around: list[Node]) -> None:
        if self.kind == "report":
            raise UnreadableStatementError("The file has more than one message.")
        if self._open is None:
            self._open = _Open(around[-1])
        statement = self._open
        statement.nth += 1
        if node.text("Sts/Cd", "Sts") not in {"BOOK", None}:
            return
        self.entries += 1
        if self.entries > ENTRIES_MAX:
            raise UnreadableStatementError(Text("The file has more than %(count)s entries.", count=ENTRIES_MAX))
        try:
            entry, is_repeated = _entry(node, statement.iban, statement.seen, self._decimals)
        except UnreadableStatementError as error:
            raise UnreadableStatementError(
                Text(
                    "Entry %(nth)s of statement %(statement_id)s: %(message)s",
                    nth=statement.nth,
                    statement_id=statement.statement_id,
                    message=as_text(error.message),
                )
            ) from None
        statement.currencies.add(entry.currency)
        if statement.last_on is None or statement.last_on < entry.booked_on:
            statement.last_on = entry.booked_on
        if entry.amount_minor:
            head, number = _head(entry), len(self.statements)
            if entry.bank_reference is not None and is_repeated:
                self._repeats.append(Repeat(number, statement.nth - 1, head, entry.undoes))
            statement.heads.append(head)
            self._found.append(ReadEntry(number, statement.nth - 1, entry))

    def _take_statement(self, node: Node, around: list[Node]) -> None:
        found, self._open = self._open or _Open(node), None
        if len(self.statements) == STATEMENTS_MAX:
            raise UnreadableStatementError(Text("The file has more than %(count)s statements.", count=STATEMENTS_MAX))
        self.statements.append(_statement(node, around[-1].one("GrpHdr/MsgPgntn"), found, self._decimals))


def _head(entry: Entry) -> EntryHead:
    return EntryHead(
        identity=entry.identity,
        side=entry.side,
        amount_minor=entry.amount_minor,
        booked_on=entry.booked_on,
        former_identity=entry.former_identity,
    )


def _statement(node: Node, pages: Node | None, found: _Open, decimals: Mapping[str, int]) -> Statement:
    page = _page(node.one("StmtPgntn")), _page(pages)
    opening, closing = _balance(node, OPENING, decimals), _balance(node, CLOSING, decimals)
    return Statement(
        iban=found.iban,
        statement_id=found.statement_id,
        currency=_currency(node, found),
        opening_minor=opening if all(part.is_first for part in page) else None,
        closing_minor=closing if all(part.is_last for part in page) else None,
        closing_on=_closing_day(node) or found.last_on,
        entries=tuple(found.heads),
    )


def _entry(node: Node, iban: str, seen: dict[bytes, int], decimals: Mapping[str, int]) -> tuple[Entry, bool]:
    """An entry, and whether an equal one was seen before in its statement."""
    amount_minor, currency = _amount(node, "Amt", decimals)
    side, booked_on = _side(node), _date(node, "BookgDt") or _date(node, "ValDt")
    if booked_on is None:
        raise UnreadableStatementError("An entry has no date.")
    details = [detail for group in node.all("NtryDtls") for detail in group.all("TxDtls")]
    parts = _parts(details, side, amount_minor, node, decimals)
    bank_reference = _reference(node.text("AcctSvcrRef"))
    key = [iban, currency, side, amount_minor, booked_on.isoformat()]
    is_reversal, former = node.text("RvslInd") in {"true", "1"}, None
    if bank_reference is None:
        name = msgspec.json.encode([*key, [_values(part) for part in parts]])
    elif is_reversal:
        name, former = msgspec.json.encode([*key, bank_reference, "reversal"]), msgspec.json.encode([*key, bank_reference])
    else:
        name = msgspec.json.encode([*key, bank_reference])
    identity, is_repeated = _identity(name, seen)
    entry = Entry(
        identity=identity,
        former_identity=None if former is None else hashlib.sha256(former + b"0").digest(),
        side=side,
        amount_minor=amount_minor,
        currency=currency,
        booked_on=booked_on,
        is_reversal=is_reversal,
        batch_id=_reference(node.text("NtryDtls/Btch/PmtInfId", "NtryDtls/TxDtls/Refs/PmtInfId")),
        bank_reference=bank_reference,
        parts=parts,
    )
    return entry, is_repeated


def _identity(name: bytes, seen: dict[bytes, int]) -> tuple[bytes, bool]:
    """Equal entries are numbered in the order of the file, and counted in `seen`. Whether it is not the first one.

    Those without a reference of the bank are distinct; of the others, `repeats` decides.
    """
    first = hashlib.sha256(name + b"0").digest()
    nth = seen.get(first, 0)
    seen[first] = nth + 1
    return (hashlib.sha256(name + b"%d" % nth).digest(), True) if nth else (first, False)


def _parts(details: list[Node], side: Side, amount_minor: int, entry: Node, decimals: Mapping[str, int]) -> tuple[Part, ...]:
    """The transfers of an entry if they add up to it; otherwise one part with the facts of the entry."""
    text = entry.text("AddtlNtryInf") or ""
    whole = Part(amount_minor=amount_minor, unstructured=text, return_reason=_return_reason(entry))
    if not details:
        return (whole,)
    if len(details) == 1:
        return (_part(details[0], side, amount_minor),)
    amounts = [_detail_minor(detail, decimals) for detail in details]
    if None in amounts or sum(minor or 0 for minor in amounts) != amount_minor:
        return (whole,)
    if any(_opposed(detail, side) for detail in details):
        return (whole,)
    return tuple(_part(detail, side, minor) for detail, minor in zip(details, amounts, strict=True) if minor)


def _part(node: Node, side: Side, amount_minor: int) -> Part:
    other = "Dbtr" if side == "credit" else "Cdtr"
    bank = f"RltdAgts/{other}Agt/FinInstnId"
    return Part(
        amount_minor=amount_minor,
        end_to_end_id=_reference(node.text("Refs/EndToEndId")),
        bank_reference=_reference(node.text("Refs/AcctSvcrRef", "Refs/TxId")),
        structured=" ".join(reference.own_text() for reference in node.all("RmtInf/Strd/CdtrRefInf/Ref"))[:WORDS_CHARS_MAX],
        unstructured=" ".join(_free_text(node))[:WORDS_CHARS_MAX],
        other_name=node.text(f"RltdPties/{other}/Pty/Nm", f"RltdPties/{other}/Nm"),
        other_iban=node.text(f"RltdPties/{other}Acct/Id/IBAN"),
        return_reason=_return_reason(node),
        sent_at=_instant(node, "RltdDts/AccptncDtTm"),
        other_bic=parse_bic(node.text(f"{bank}/BICFI", f"{bank}/BIC") or ""),
        other_address=_address(node.one(f"RltdPties/{other}/Pty/PstlAdr") or node.one(f"RltdPties/{other}/PstlAdr")),
    )


def _address(node: Node | None) -> PostalAddress | None:
    """A structured address; None if it is written in lines alone."""
    if node is None:
        return None
    return read_address({name: text for element, name in ADDRESS_ELEMENTS if (text := node.text(element))})


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
        yield from (line.own_text() for line in node.all(path))


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
        for balance in node.all("Bal"):
            if balance.text("Tp/CdOrPrtry/Cd") == code and balance.text("Tp/SubTp/Cd") != "INTM":
                return balance
    return None


def _amount(node: Node, path: str, decimals: Mapping[str, int]) -> tuple[int, str]:
    found = node.one(path)
    currency = None if found is None else found.attributes.get("Ccy")
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


def _currency(node: Node, found: _Open) -> str | None:
    """The one currency of a statement: an account in several has a statement for each."""
    amounts = [balance.one("Amt") for balance in node.all("Bal")]
    stated = {node.text("Acct/Ccy"), *(amount.attributes.get("Ccy") for amount in amounts if amount is not None)} - {None}
    currencies = stated | found.currencies
    if len(currencies) > 1:
        raise UnreadableStatementError(
            Text(
                "Statement %(statement_id)s has amounts in more than one currency: %(currencies)s.",
                statement_id=found.statement_id,
                currencies=", ".join(sorted(filter(None, currencies))),
            )
        )
    return next(iter(currencies), None)
