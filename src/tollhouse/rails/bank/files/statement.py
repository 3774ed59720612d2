"""What a file of a bank says: statements with their entries, entries that it repeats, and status reports about payments."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Literal, NamedTuple

from msgspec import Struct, structs

from tollhouse.kernel.bank_codes import PostalAddress
from tollhouse.kernel.text import Text
from tollhouse.rails.bank.files.xml import Node, UnreadableStatementError

Side = Literal["credit", "debit"]
ImportKind = Literal["statement", "notification", "report"]
REPORT_NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:pain.002.001."
REPORT_VERSIONS = ("03", "10")
REPORT_PATH = ("CstmrPmtStsRpt",)
REPORTS_ON = "pain.001"
REJECTED = "RJCT"
DUPLICATE = frozenset({"AM05", "DU01", "DU02", "DU03", "DU04", "DU05", "DUPL"})
"""The bank has it already: what was rejected is the copy."""
INVALID_RECEIVER = frozenset(
    {"AC01", "AC03", "AC04", "AC06", "AC07", "AC13", "AC14", "AG01", "BE01", "BE04", "BE05", "BE07", "MD07", "RC01", "RC07"}
)
"""Reasons that concern the account of the receiver, or who it belongs to."""


class Part(Struct, frozen=True, kw_only=True):
    """One transfer of an entry, as sender and banks described it.

    `return_reason` is a code such as AC04 for a returned transfer, empty if the bank gave none; None if it is no return.
    `sent_at` is when the payer's bank accepted the transfer, which few banks state. `other_bic` and `other_address` are
    those of the other party, as far as they are stated and valid.
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
    other_bic: str | None = None
    other_address: PostalAddress | None = None


class EntryHead(Struct, frozen=True, kw_only=True):
    """What an entry does to the balance. `identity` is the same in every statement that contains it.

    `former_identity` is the one that earlier versions gave a reversal, which they did not tell from another entry.
    """

    identity: bytes
    side: Side
    amount_minor: int
    booked_on: date
    former_identity: bytes | None = None


class Entry(EntryHead, frozen=True, kw_only=True):
    """One booked entry of an account. A reversal undoes an earlier entry of the opposite side.

    `parts` add up to the entry: a batch without details is one part with `batch_id` alone.
    """

    currency: str
    is_reversal: bool
    batch_id: str | None
    bank_reference: str | None
    parts: tuple[Part, ...]

    @property
    def undoes(self) -> bool:
        """Whether it undoes an earlier transfer."""
        return self.is_reversal or any(part.return_reason is not None for part in self.parts)


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
    entries: tuple[EntryHead, ...]


class ReadEntry(NamedTuple):
    """An entry of the statement with this number in its file, and its own number there. Both count from 0."""

    statement: int
    nth: int
    entry: Entry


class Repeat(NamedTuple):
    """An entry with the reference and facts of an earlier one of its statement: where it is, as in `ReadEntry`."""

    statement: int
    nth: int
    head: EntryHead
    undoes: bool


def resolve_repeats(statements: Sequence[Statement], found: Sequence[Repeat]) -> tuple[list[Statement], list[Repeat]]:
    """The statements without the repeats that are no entries of their own, and these.

    Raises `UnreadableStatementError` if a statement does not add up either way.
    """
    by_statement = defaultdict[int, list[Repeat]](list)
    for entry in found:
        by_statement[entry.statement].append(entry)
    resolved, dropped = list(statements), list[Repeat]()
    for numbers in page_groups(statements):
        here = [entry for number in numbers for entry in by_statement[number]]
        if _are_proven([statements[number] for number in numbers], here):
            continue
        dropped += here
        for number in numbers:
            gone = {entry.head.identity for entry in by_statement[number]}
            kept = tuple(head for head in statements[number].entries if head.identity not in gone)
            resolved[number] = structs.replace(statements[number], entries=kept)
    return resolved, dropped


def page_groups(statements: Sequence[Statement]) -> Iterator[list[int]]:
    """The numbers of the statements of a file, each with those of its further pages."""
    group = list[int]()
    for number, statement in enumerate(statements):
        if group and not _continues(statements[group[-1]], statement):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def has_balances(group: Sequence[Statement]) -> bool:
    """Whether the pages of a statement have its opening and its closing balance."""
    return group[0].opening_minor is not None and group[-1].closing_minor is not None


def _continues(page: Statement, following: Statement) -> bool:
    """Whether a statement is the next page of another one."""
    named = (page.iban, page.currency, page.statement_id), (following.iban, following.currency, following.statement_id)
    return named[0] == named[1] and page.closing_minor is None and following.opening_minor is None


def _are_proven(group: Sequence[Statement], found: Sequence[Repeat]) -> bool:
    """Whether the balances prove that repeated entries are entries of their own. Raises `UnreadableStatementError`."""
    opening, closing = group[0].opening_minor, group[-1].closing_minor
    if opening is None or closing is None:
        return False
    whole = opening + sum(net_minor(page.entries) for page in group)
    if whole - net_minor([entry.head for entry in found]) == closing:
        return False
    if whole == closing:
        return True
    raise UnreadableStatementError(
        Text(
            "Statement %(statement_id)s does not add up: the opening balance plus the entries is not the closing balance.",
            statement_id=group[0].statement_id,
        )
    )


def net_minor(entries: Sequence[EntryHead]) -> int:
    """What entries add to the balance, negative if they take from it."""
    return sum(entry.amount_minor if entry.side == "credit" else -entry.amount_minor for entry in entries)


class Reason(Struct, frozen=True):
    """Why something was rejected: a code, empty if the bank gave none, and its words."""

    code: str
    words: str

    @property
    def is_duplicate(self) -> bool:
        """Whether the bank has executed, or will execute, the same from another copy."""
        return self.code in DUPLICATE

    @property
    def text(self) -> str:
        """Both on one line."""
        return " ".join(filter(None, (self.code, self.words))) or REJECTED


class Rejected(NamedTuple):
    """A transfer that was rejected, by its end-to-end id; None: all of the file."""

    end_to_end_id: str | None
    reason: Reason


class StatusReport(Struct, frozen=True):
    """A report about the payment file with this message id. `status` is that of the file, if the bank states one."""

    message_id: str
    about: str
    status: str | None
    rejected: tuple[Rejected, ...]


def is_report(space: str) -> bool:
    """Whether this is the namespace of a report."""
    return space in {REPORT_NAMESPACE + version for version in REPORT_VERSIONS}


def read_report(node: Node) -> StatusReport:
    """The report in its element. Raises `UnreadableStatementError`."""
    message_id, about = node.text("GrpHdr/MsgId"), node.text("OrgnlGrpInfAndSts/OrgnlMsgId")
    name = node.text("OrgnlGrpInfAndSts/OrgnlMsgNmId")
    if message_id is None or about is None or name is None or not name.startswith(REPORTS_ON):
        raise UnreadableStatementError("The status report has no ID, or is not about a pain.001 file.")
    status = node.text("OrgnlGrpInfAndSts/GrpSts", "OrgnlPmtInfAndSts/PmtInfSts")
    rejected: list[Rejected] = []
    if node.text("OrgnlGrpInfAndSts/GrpSts") == REJECTED:
        rejected.append(Rejected(None, _reason(node.one("OrgnlGrpInfAndSts"))))
    for payment in node.all("OrgnlPmtInfAndSts"):
        if payment.text("PmtInfSts") == REJECTED:
            rejected.append(Rejected(None, _reason(payment)))
        rejected += [_rejected(transfer) for transfer in payment.all("TxInfAndSts") if transfer.text("TxSts") == REJECTED]
    return StatusReport(message_id, about, status, tuple(rejected))


def _rejected(transfer: Node) -> Rejected:
    end_to_end_id = transfer.text("OrgnlEndToEndId")
    if end_to_end_id is None:
        raise UnreadableStatementError("A rejected transfer has no end-to-end ID.")
    return Rejected(end_to_end_id, _reason(transfer))


def _reason(node: Node | None) -> Reason:
    found = None if node is None else node.one("StsRsnInf")
    if found is None:
        return Reason("", "")
    words = " ".join(filter(None, (line.own_text() for line in found.all("AddtlInf"))))
    return Reason(found.text("Rsn/Cd", "Rsn/Prtry") or "", words[:300])
