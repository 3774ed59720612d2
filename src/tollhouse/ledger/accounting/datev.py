"""The daily totals of a period as a posting batch for DATEV (format EXTF 700, category 21, version 13).

Each day has one booking for each pair of accounts: what an accountant takes from a subledger. Only euros are written, since
DATEV wants the rate of each booking in another currency.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime

from msgspec import Struct

from tollhouse.kernel.money import format_minor
from tollhouse.ledger.accounting.model import DailyTotal
from tollhouse.ledger.books.model import MERCHANT_CODES

CURRENCY, DECIMALS = "EUR", 2
ENCODING = "cp1252"
AMOUNT_MAX = 999_999_999_999
"""Ten digits before the comma, in cents."""
BOOKINGS_MAX = 99_999
FIRST_ACCOUNT, OFFSET_ACCOUNT, VOUCHER_DATE, VOUCHER, TEXT = 6, 7, 9, 10, 13
MERCHANTS = "merchants"


def _pairs(kind: str, content: str, count: int) -> Iterator[str]:
    for number in range(1, count + 1):
        yield from (f"{kind} {number}", f"{content} {number}")


COLUMNS = (
    *("Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "WKZ Umsatz", "Kurs", "Basis-Umsatz", "WKZ Basis-Umsatz"),
    *("Konto", "Gegenkonto (ohne BU-Schlüssel)", "BU-Schlüssel", "Belegdatum", "Belegfeld 1", "Belegfeld 2", "Skonto"),
    *("Buchungstext", "Postensperre", "Diverse Adressnummer", "Geschäftspartnerbank", "Sachverhalt", "Zinssperre"),
    *("Beleglink", *_pairs("Beleginfo - Art", "Beleginfo - Inhalt", 8), "KOST1 - Kostenstelle", "KOST2 - Kostenstelle"),
    *("Kost-Menge", "EU-Land u. UStID (Bestimmung)", "EU-Steuersatz (Bestimmung)", "Abw. Versteuerungsart"),
    *("Sachverhalt L+L", "Funktionsergänzung L+L", "BU 49 Hauptfunktionstyp", "BU 49 Hauptfunktionsnummer"),
    *("BU 49 Funktionsergänzung", *_pairs("Zusatzinformation - Art", "Zusatzinformation- Inhalt", 20), "Stück"),
    *("Gewicht", "Zahlweise", "Forderungsart", "Veranlagungsjahr", "Zugeordnete Fälligkeit", "Skontotyp"),
    *("Auftragsnummer", "Buchungstyp", "USt-Schlüssel (Anzahlungen)", "EU-Land (Anzahlungen)"),
    *("Sachverhalt L+L (Anzahlungen)", "EU-Steuersatz (Anzahlungen)", "Erlöskonto (Anzahlungen)", "Herkunft-Kz"),
    *("Buchungs GUID", "KOST-Datum", "SEPA-Mandatsreferenz", "Skontosperre", "Gesellschaftername", "Beteiligtennummer"),
    *("Identifikationsnummer", "Zeichnernummer", "Postensperre bis", "Bezeichnung SoBil-Sachverhalt"),
    *("Kennzeichen SoBil-Buchung", "Festschreibung", "Leistungsdatum", "Datum Zuord. Steuerperiode", "Fälligkeit"),
    *("Generalumkehr (GU)", "Steuersatz", "Land", "Abrechnungsreferenz", "BVV-Position", "EU-Land u. UStID (Ursprung)"),
    *("EU-Steuersatz (Ursprung)", "Abw. Skontokonto"),
)


class PostingBatch(Struct, frozen=True):
    """What the header says: the accountant's numbers of consultant and client, and the days, which are of one year."""

    consultant: int
    client: int
    first: date
    last: date
    created_at: datetime


def account_number(code: str, numbers: Mapping[str, str]) -> str | None:
    """The accountant's number of an account: that of its code, or else of its kind; None if there is none."""
    kind = MERCHANTS if code in MERCHANT_CODES else code.partition(":")[0]
    return numbers.get(code) or numbers.get(kind)


def missing_accounts(days: Iterable[DailyTotal], numbers: Mapping[str, str]) -> list[str]:
    """The codes without a number, in order."""
    codes = {code for one in days for code in (one.debit_code, one.credit_code)}
    return sorted(code for code in codes if account_number(code, numbers) is None)


def file_name(batch: PostingBatch) -> str:
    """The name that DATEV expects."""
    return f"EXTF_Buchungsstapel_{batch.first:%Y%m%d}_{batch.last:%Y%m%d}.csv"


def write(batch: PostingBatch, days: Iterable[DailyTotal], numbers: Mapping[str, str]) -> bytes:
    """The file. Every account must have a number; what moves between accounts of one number is left out."""
    rows = [_header(batch, numbers), COLUMNS, *(row for one in days for row in _bookings(one, numbers))]
    return "".join(";".join(row) + "\r\n" for row in rows).encode(ENCODING)


def _header(batch: PostingBatch, numbers: Mapping[str, str]) -> Sequence[str]:
    created = f"{batch.created_at:%Y%m%d%H%M%S}{batch.created_at.microsecond // 1000:03}"
    length = min(len(number) for number in numbers.values())
    days = (f"{batch.first:%Y}0101", str(length), f"{batch.first:%Y%m%d}", f"{batch.last:%Y%m%d}")
    return (
        *(_text("EXTF"), "700", "21", _text("Buchungsstapel"), "13", created, "", _text("TH"), _text(""), _text("")),
        *(str(batch.consultant), str(batch.client), *days, _text("Tollhouse"), _text(""), "1", "0", "0", _text(CURRENCY)),
        *("", _text(""), "", "", _text(""), "", "", _text(""), _text("")),
    )


def _bookings(one: DailyTotal, numbers: Mapping[str, str]) -> Iterator[Sequence[str]]:
    debit, credit = account_number(one.debit_code, numbers), account_number(one.credit_code, numbers)
    if debit is None or credit is None:
        raise AssertionError("every account has a number")
    remaining_minor = 0 if debit == credit else one.amount_minor
    while remaining_minor:
        amount_minor = min(remaining_minor, AMOUNT_MAX)
        remaining_minor -= amount_minor
        row = [""] * len(COLUMNS)
        row[0], row[1], row[2] = format_minor(amount_minor, DECIMALS).replace(".", ","), _text("S"), _text(CURRENCY)
        row[FIRST_ACCOUNT], row[OFFSET_ACCOUNT] = debit, credit
        row[VOUCHER_DATE], row[VOUCHER] = f"{one.day:%d%m}", _text(f"TH{one.day:%Y%m%d}")
        row[TEXT] = _text(f"{one.type} ({one.postings})")
        yield row


def _text(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
