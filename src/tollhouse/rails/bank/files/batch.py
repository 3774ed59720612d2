"""Payment files (ISO 20022 pain.001.001.09) that operators take to the bank: euro transfers from one account."""

import unicodedata
from datetime import datetime
from uuid import UUID

from lxml import etree
from msgspec import Struct

from tollhouse.kernel.bank_codes import ADDRESS_CHARS_MAX, OUTSIDE_EEA, PostalAddress, parse_iban
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.money import format_minor
from tollhouse.platform.xml import Element
from tollhouse.rails.bank.files.transfer import CURRENCY, BankAccount

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
DECIMALS = 2
NAME_CHARS_MAX, WORDS_CHARS_MAX = 70, 140
NOT_PROVIDED = "NOTPROVIDED"
HEX_CHARS = 32
ADDRESS_ELEMENTS = (
    ("StrtNm", "street_name"),
    ("BldgNb", "building_number"),
    ("PstCd", "postcode"),
    ("TwnNm", "town_name"),
    ("Ctry", "country"),
)
"""The elements of an address in the order of the schema, and the parts that they have."""
EVERY_BANK_READS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-?:().,'+ ")
SPELLED = str.maketrans({"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
                         "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "\u0131": "i", "&": "+"})  # fmt: skip


class Transfer(Struct, frozen=True):
    """A transfer to an account. Statements return its end-to-end id."""

    end_to_end_id: str
    amount_minor: int
    receiver_iban: str
    receiver_name: str
    words: str
    receiver_bic: str | None = None
    receiver_address: PostalAddress | None = None


class Batch(Struct, frozen=True):
    """The transfers of one file. The file contains the id, so that the bank recognizes duplicates."""

    id: UUID
    account: BankAccount
    created_at: datetime
    transfers: tuple[Transfer, ...]


def write(batch: Batch) -> bytes:
    """The file, with the same bytes for the same batch."""
    if not batch.transfers:
        raise ValueError("a batch has at least one transfer")
    count, sum_of_all = str(len(batch.transfers)), total(batch)
    document = etree.fromstring(f'<Document xmlns="{NAMESPACE}"/>')
    initiation = _below(document, "CstmrCdtTrfInitn")
    header = _below(initiation, "GrpHdr")
    _below(header, "MsgId", batch.id.hex)
    _below(header, "CreDtTm", stamp(batch.created_at))
    _below(header, "NbOfTxs", count)
    _below(header, "CtrlSum", sum_of_all)
    _below(header, "InitgPty/Nm", _name(batch.account.holder))
    payment = _below(initiation, "PmtInf")
    _below(payment, "PmtInfId", batch.id.hex)
    _below(payment, "PmtMtd", "TRF")
    _below(payment, "BtchBookg", "false")  # each transfer is one statement line, by which it is recognized
    _below(payment, "NbOfTxs", count)
    _below(payment, "CtrlSum", sum_of_all)
    _below(payment, "PmtTpInf/SvcLvl/Cd", "SEPA")
    _below(payment, "ReqdExctnDt/Dt", batch.created_at.date().isoformat())
    debtor = _below(payment, "Dbtr")
    _below(debtor, "Nm", _name(batch.account.holder))
    if batch.account.address is not None:
        _address(debtor, batch.account.address)
    _below(payment, "DbtrAcct/Id/IBAN", batch.account.iban)
    if batch.account.bic is not None:
        _below(payment, "DbtrAgt/FinInstnId/BICFI", batch.account.bic)
    else:
        _below(payment, "DbtrAgt/FinInstnId/Othr/Id", NOT_PROVIDED)
    _below(payment, "ChrgBr", "SLEV")
    for transfer in batch.transfers:
        _transfer(payment, transfer)
    return etree.tostring(document, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def outside_eea(batch: Batch) -> list[Transfer]:
    """The transfers to countries of SEPA for which banks require the sender's address."""
    return [transfer for transfer in batch.transfers if transfer.receiver_iban[:2] in OUTSIDE_EEA]


def missing_details(receiver_iban: str, bic: str | None, address: PostalAddress | None) -> str | None:
    """What a bank outside the EEA can reject a transfer for: `bic`, `address`, or `bic, address`; None if nothing."""
    if receiver_iban[:2] not in OUTSIDE_EEA:
        return None
    return ", ".join(name for name, known in (("bic", bic), ("address", address)) if known is None) or None


def total(batch: Batch) -> str:
    """The sum of all transfers, in euros."""
    return _euros(sum(transfer.amount_minor for transfer in batch.transfers))


def id_in(name: str | None) -> UUID | None:
    """The id in a name of a statement, if it has the format of the files."""
    if name is None or len(name) != HEX_CHARS:
        return None
    try:
        return UUID(hex=name)
    except ValueError:
        return None


def plain(text: str, chars_max: int) -> str:
    """The text in the character set that every bank accepts, without accents; other characters become spaces."""
    bare = unicodedata.normalize("NFKD", text.translate(SPELLED))
    letters = (char if char in EVERY_BANK_READS else " " for char in bare if not unicodedata.combining(char))
    return " ".join("".join(letters).split())[:chars_max].strip()


def _transfer(payment: Element, transfer: Transfer) -> None:
    if parse_iban(transfer.receiver_iban) != transfer.receiver_iban or transfer.amount_minor <= 0:
        raise ValueError("a transfer goes to an account that was checked, and is above zero")
    node = _below(payment, "CdtTrfTxInf")
    _below(node, "PmtId/EndToEndId", transfer.end_to_end_id)
    amount = _below(node, "Amt/InstdAmt", _euros(transfer.amount_minor))
    amount.set("Ccy", CURRENCY)
    if transfer.receiver_bic is not None:
        _below(node, "CdtrAgt/FinInstnId/BICFI", transfer.receiver_bic)
    creditor = _below(node, "Cdtr")
    _below(creditor, "Nm", _name(transfer.receiver_name))
    if transfer.receiver_address is not None:
        _address(creditor, transfer.receiver_address)
    _below(node, "CdtrAcct/Id/IBAN", transfer.receiver_iban)
    if words := plain(transfer.words, WORDS_CHARS_MAX):
        _below(node, "RmtInf/Ustrd", words)


def _address(party: Element, address: PostalAddress) -> None:
    """Structured: banks refuse address lines from November 2026 on."""
    node = _below(party, "PstlAdr")
    for element, name in ADDRESS_ELEMENTS:
        text: str | None = getattr(address, name)
        if text is not None:
            _below(node, element, plain(text, ADDRESS_CHARS_MAX[name]) or NOT_PROVIDED)


def _below(node: Element, path: str, text: str | None = None) -> Element:
    """Append an element, with its parents if the path has several names."""
    for name in path.split("/"):
        node = etree.SubElement(node, f"{{{NAMESPACE}}}{name}")
    node.text = text
    return node


def _name(text: str) -> str:
    return plain(text, NAME_CHARS_MAX) or NOT_PROVIDED


def _euros(amount_minor: int) -> str:
    return format_minor(amount_minor, DECIMALS)
