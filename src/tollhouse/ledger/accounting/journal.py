"""The books of the platform as files: every posting of a period, the trial balance of each currency, and postings for DATEV.

The posting batch for DATEV (format EXTF 700, category 21, version 13) has one booking a day for each pair of accounts: what
an accountant takes from a subledger. Only euros are written, since DATEV wants the rate of each booking in another currency.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby

from msgspec import Struct

from tollhouse.http.csv_table import lines
from tollhouse.http.services import Services
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.money import format_minor
from tollhouse.ledger.accounting import store
from tollhouse.ledger.accounting.labels import account_name, account_order
from tollhouse.ledger.accounting.model import AccountTotal, DailyTotal, JournalPosition, JournalPosting, TrialBalance
from tollhouse.ledger.books.model import MERCHANT_CODES
from tollhouse.platform.database.pool import Pool

ROWS_AT_ONCE = 2_000
HOUR = timedelta(hours=1)
HEADER = (
    "time",
    "ledger_transaction_id",
    "line",
    "type",
    "currency",
    "amount",
    "debit_account",
    "debit_merchant_id",
    "credit_account",
    "credit_merchant_id",
    "source_type",
    "source_id",
)
TRIAL_BALANCE_HEADER = ("until", "currency", "account", "name", "debit", "credit", "balance")
EVERY_S = 60
CURRENCY, DECIMALS = "EUR", 2
ENCODING = "cp1252"
AMOUNT_MAX = 999_999_999_999
"""Ten digits before the comma, in cents."""
FIRST_ACCOUNT, OFFSET_ACCOUNT, VOUCHER_DATE, VOUCHER, TEXT = 6, 7, 9, 10, 13
MERCHANTS = "merchants"


async def as_csv(db: Pool, start: datetime, end: datetime, catalogue: Catalogue) -> AsyncIterator[str]:
    """A header line, and a line for each posting, with its amount in major units."""
    yield lines([HEADER])
    async for part in _iterate(db, start, end):
        yield lines(_cells(row, catalogue) for row in part)


async def _iterate(db: Pool, start: datetime, end: datetime) -> AsyncIterator[list[JournalPosting]]:
    """The postings, in parts. An hour is sorted at a time, so that a long period takes no more memory than a short one.

    The first part reaches to the first hour of the ledger.
    """
    begins_at = await store.first_posted_at(db)
    while begins_at is not None and start < end:
        until, after = min(max(start, begins_at) + HOUR, end), JournalPosition(start)
        while found := await store.list_postings(db, after, until, ROWS_AT_ONCE):
            yield found
            if len(found) < ROWS_AT_ONCE:
                break
            after = JournalPosition(found[-1].created_at, found[-1].transaction_id, found[-1].line)
        start = until


def _cells(posting: JournalPosting, catalogue: Catalogue) -> Iterator[str]:
    yield from (stamp(posting.created_at), str(posting.transaction_id), str(posting.line), posting.type, posting.currency)
    yield catalogue.format_amount(posting.amount_minor, posting.currency)
    for code, merchant_id in (
        (posting.debit_code, posting.debit_merchant_id),
        (posting.credit_code, posting.credit_merchant_id),
    ):
        yield from (code, "" if merchant_id is None else str(merchant_id))
    yield from (posting.source_type, str(posting.source_id))


async def trial_balances(db: Pool, day: date | None) -> list[TrialBalance]:
    """The trial balance of each currency at the end of a day (UTC), or now."""
    async with db.connection() as tx, tx.snapshot():
        return by_currency(await store.list_totals(tx, day))


def by_currency(totals: Iterable[AccountTotal]) -> list[TrialBalance]:
    """The accounts of each currency, in order."""
    ordered = sorted(totals, key=lambda total: (total.currency, account_order(total.code)))
    return [TrialBalance(code, tuple(accounts)) for code, accounts in groupby(ordered, key=lambda total: total.currency)]


def trial_balances_as_csv(found: Iterable[TrialBalance], until: date, catalogue: Catalogue) -> str:
    """A header line, and a line for each account with amounts in major units; credits are negative in `balance`."""
    return lines(
        [
            TRIAL_BALANCE_HEADER,
            *(_account_cells(account, until, catalogue) for balance in found for account in balance.accounts),
        ]
    )


def _account_cells(total: AccountTotal, until: date, catalogue: Catalogue) -> Iterator[str]:
    yield from (until.isoformat(), total.currency, total.code, str(account_name(total.code)))
    for minor in (total.debit_minor, total.credit_minor, total.balance_minor):
        yield catalogue.format_amount(minor, total.currency)


async def add_daily_totals(services: Services) -> None:
    """Add what was posted until 15 minutes ago, an hour at a time, each in a transaction of its own."""
    while await services.db.transact(store.add_next_hour):
        pass


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
    codes = {code for day in days for code in (day.debit_code, day.credit_code)}
    return sorted(code for code in codes if account_number(code, numbers) is None)


def datev_file_name(batch: PostingBatch) -> str:
    """The name that DATEV expects."""
    return f"EXTF_Buchungsstapel_{batch.first:%Y%m%d}_{batch.last:%Y%m%d}.csv"


def write_datev(batch: PostingBatch, days: Iterable[DailyTotal], numbers: Mapping[str, str]) -> bytes:
    """The file. Every account must have a number; what moves between accounts of one number is left out."""
    rows = [_header(batch, numbers), COLUMNS, *(row for day in days for row in _bookings(day, numbers))]
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


def _bookings(total: DailyTotal, numbers: Mapping[str, str]) -> Iterator[Sequence[str]]:
    debit, credit = account_number(total.debit_code, numbers), account_number(total.credit_code, numbers)
    if debit is None or credit is None:
        raise AssertionError("every account has a number")
    remaining_minor = 0 if debit == credit else total.amount_minor
    while remaining_minor:
        amount_minor = min(remaining_minor, AMOUNT_MAX)
        remaining_minor -= amount_minor
        row = [""] * len(COLUMNS)
        row[0], row[1], row[2] = format_minor(amount_minor, DECIMALS).replace(".", ","), _text("S"), _text(CURRENCY)
        row[FIRST_ACCOUNT], row[OFFSET_ACCOUNT] = debit, credit
        row[VOUCHER_DATE], row[VOUCHER] = f"{total.day:%d%m}", _text(f"TH{total.day:%Y%m%d}")
        row[TEXT] = _text(f"{total.type} ({total.postings})")
        yield row


def _text(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
