"""Statements as a bank would write them, camt.053.001.02 and .08, from a few words. Both are valid by their schemas."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any
from uuid import uuid4
from xml.sax.saxutils import escape

from msgspec.structs import asdict

from tollhouse.kernel.money import format_minor
from tollhouse.rails.bank.files.camt import StatementReader
from tollhouse.rails.bank.files.statement import Entry, Statement

IBAN, BIC, HOLDER = "DE89370400440532013000", "COBADEFFXXX", "Tollhouse Test GmbH"
CUSTOMER_IBAN = "FR1420041010050500013M02606"
ACCOUNT = {"TOLLHOUSE_BANK_IBAN": IBAN, "TOLLHOUSE_BANK_BIC": BIC, "TOLLHOUSE_BANK_HOLDER": HOLDER}
TODAY = date(2026, 11, 20)


@dataclass(frozen=True)
class Line:
    """One entry of a statement, with one transfer in it, or with `parts`."""

    minor: int
    side: str = "CRDT"
    structured: str | None = None
    words: str | None = None
    end_to_end: str | None = None
    bank_reference: str | None = field(default_factory=lambda: uuid4().hex)
    name: str | None = "Erika Müller"
    return_reason: str | None = None
    reversal: bool = False
    status: str = "BOOK"
    day: date = TODAY
    currency: str = "EUR"
    batch: str | None = None
    parts: tuple["Line", ...] = ()
    account: str | None = CUSTOMER_IBAN
    sent_at: str | None = None
    bic: str | None = None
    address: Mapping[str, str] = field(default_factory=dict[str, str])


def paid(reference: str, minor: int, **changes: Any) -> Line:
    """A customer's transfer with the reference where it belongs."""
    return replace(Line(minor, structured=reference), **changes)


class WholeStatement(Statement, frozen=True, kw_only=True):
    """A statement with all that its entries say."""

    entries: tuple[Entry, ...]


def read(raw: bytes, decimals: Mapping[str, int]) -> list[WholeStatement]:
    """The statements of a file, read at once."""
    reader = StatementReader(decimals)
    found = reader.feed(raw)
    whole = list[WholeStatement]()
    for number, one in enumerate(reader.close()):
        said: dict[str, Any] = asdict(one)
        said["entries"] = tuple(its.entry for its in found if its.statement == number)
        whole.append(WholeStatement(**said))
    return whole


def statement(*lines: Line, version: str = "08", iban: str = IBAN, name: str | None = None, **changes: Any) -> bytes:
    """A whole file. `opening` and `closing` are in minor units of the day `on`; the closing one follows unless given."""
    opening = changes.get("opening", 100_000)
    moved = sum(line.minor if line.side == "CRDT" else -line.minor for line in lines if line.status == "BOOK")
    closing = changes.get("closing", opening + moved)
    pages = "<StmtPgntn><PgNb>1</PgNb><LastPgInd>false</LastPgInd></StmtPgntn>" if changes.get("first_page") else ""
    on, currency = changes.get("on", TODAY), changes.get("currency", "EUR")
    entries = "".join(_entry(line, version) for line in lines)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version}"><BkToCstmrStmt>
<GrpHdr><MsgId>{uuid4().hex}</MsgId><CreDtTm>2026-11-20T22:00:00+01:00</CreDtTm></GrpHdr>
<Stmt><Id>{name or uuid4().hex}</Id>{pages}<ElctrncSeqNb>7</ElctrncSeqNb><CreDtTm>2026-11-20T22:00:00+01:00</CreDtTm>
<Acct><Id><IBAN>{iban}</IBAN></Id><Ccy>{currency}</Ccy></Acct>
{_balance("OPBD", opening, currency, on)}{_balance("CLBD", closing, currency, on)}
{entries}</Stmt></BkToCstmrStmt></Document>
""".encode()


def _balance(code: str, minor: int, currency: str, on: date) -> str:
    side = "CRDT" if minor >= 0 else "DBIT"
    return (
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>{_amount(abs(minor), currency)}"
        f"<CdtDbtInd>{side}</CdtDbtInd><Dt><Dt>{on}</Dt></Dt></Bal>"
    )


def _entry(line: Line, version: str) -> str:
    status = f"<Cd>{line.status}</Cd>" if version == "08" else line.status
    batch = f"<Btch><PmtInfId>{line.batch}</PmtInfId></Btch>" if line.batch else ""
    details = "".join(_details(part, line, version) for part in line.parts or (line,)) if not line.batch else ""
    return (
        f"<Ntry>{_amount(line.minor, line.currency)}<CdtDbtInd>{line.side}</CdtDbtInd>"
        f"{'<RvslInd>true</RvslInd>' if line.reversal else ''}<Sts>{status}</Sts>"
        f"<BookgDt><Dt>{line.day}</Dt></BookgDt><ValDt><Dt>{line.day}</Dt></ValDt>"
        f"{_text('AcctSvcrRef', line.bank_reference)}"
        "<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd>"
        f"<NtryDtls>{batch}{details}</NtryDtls><AddtlNtryInf>SEPA</AddtlNtryInf></Ntry>"
    )


def _details(part: Line, line: Line, version: str) -> str:
    """A transfer. The newer version has an amount of its own for it, and a party within a party."""
    refs = _text("EndToEndId", part.end_to_end or "NOTPROVIDED")
    amount = _amount(part.minor, line.currency)
    if version == "08":
        amounts = f"{amount}<CdtDbtInd>{line.side}</CdtDbtInd>"
    else:
        amounts = f"<AmtDtls><TxAmt>{amount}</TxAmt></AmtDtls>"
    role, name = ("Dbtr" if line.side == "CRDT" else "Cdtr"), _text("Nm", part.name)
    if part.address:
        name += f"<PstlAdr>{''.join(_text(element, text) for element, text in part.address.items())}</PstlAdr>"
    who = f"<Pty>{name}</Pty>" if version == "08" else name
    bic = f"<{role}Agt><FinInstnId>{_text('BICFI' if version == '08' else 'BIC', part.bic)}</FinInstnId></{role}Agt>"
    agents = f"<RltdAgts>{bic}</RltdAgts>" if part.bic else ""
    account = f"<{role}Acct><Id><IBAN>{part.account}</IBAN></Id></{role}Acct>" if part.account else ""
    parties = f"<{role}>{who}</{role}>{account}" if part.name else ""
    structured = f"<Strd><CdtrRefInf>{_text('Ref', part.structured)}</CdtrRefInf></Strd>" if part.structured else ""
    reported = f"{_text('Ustrd', part.words)}{structured}"
    dates = f"<RltdDts><AccptncDtTm>{part.sent_at}</AccptncDtTm></RltdDts>" if part.sent_at else ""
    back = f"<RtrInf><Rsn><Cd>{part.return_reason}</Cd></Rsn></RtrInf>" if part.return_reason else ""
    return (
        f"<TxDtls><Refs>{refs}</Refs>{amounts}{f'<RltdPties>{parties}</RltdPties>' if parties else ''}"
        f"{agents}{f'<RmtInf>{reported}</RmtInf>' if reported else ''}{dates}{back}</TxDtls>"
    )


def _amount(minor: int, currency: str) -> str:
    return f'<Amt Ccy="{currency}">{format_minor(minor, 2)}</Amt>'


def _text(name: str, text: str | None) -> str:
    return "" if text is None else f"<{name}>{escape(text)}</{name}>"
