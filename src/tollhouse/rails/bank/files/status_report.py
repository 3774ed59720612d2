"""Reading what a bank reports about a payment file (ISO 20022 pain.002, versions 03 and 10): accepted or rejected."""

from typing import NamedTuple

from msgspec import Struct

from tollhouse.rails.bank.files.xml import Node, UnreadableStatementError

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:pain.002.001."
VERSIONS = ("03", "10")
PATH = ("CstmrPmtStsRpt",)
REPORTS_ON = "pain.001"
REJECTED = "RJCT"
DUPLICATE = frozenset({"AM05", "DU01", "DU02", "DU03", "DU04", "DU05", "DUPL"})
"""The bank has it already: what was rejected is the copy."""
INVALID_RECEIVER = frozenset(
    {"AC01", "AC03", "AC04", "AC06", "AC07", "AC13", "AC14", "AG01", "BE01", "BE04", "BE05", "BE07", "MD07", "RC01", "RC07"}
)
"""Reasons that concern the account of the receiver, or who it belongs to."""


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
    return space in {NAMESPACE + version for version in VERSIONS}


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
        rejected += [_rejected(one) for one in payment.all("TxInfAndSts") if one.text("TxSts") == REJECTED]
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
    words = " ".join(filter(None, (one.own_text() for one in found.all("AddtlInf"))))
    return Reason(found.text("Rsn/Cd", "Rsn/Prtry") or "", words[:300])
