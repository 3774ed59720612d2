"""What banks call accounts (IBAN), each other (BIC) and payments (creditor reference), with check digits; and bank days.

Bank days are days on which banks settle transfers in euros. The others are the closing days of T2 (ECB).
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import midnight
from tollhouse.kernel.text import Text, Translatable

SEPA_IBAN_CHARS = {
    "AD": 24, "AL": 28, "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24,
    "FI": 18, "FR": 27, "GB": 22, "GI": 23, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21, "LT": 20,
    "LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24,
    "RS": 22, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "VA": 22,
}  # fmt: skip
"""How long an account's name is in each country that euro credit transfers reach."""

BIC = re.compile(r"[A-Z]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")
IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,27}")
OUTSIDE_EEA = frozenset({"AD", "AL", "CH", "GB", "GI", "MC", "MD", "ME", "MK", "RS", "SM", "VA"})
"""Countries of SEPA to which a transfer has the sender's address (Regulation (EU) 2015/847)."""

SHARED_BIC_COUNTRIES: Mapping[str, frozenset[str]] = {
    "FI": frozenset({"AX"}),
    "FR": frozenset({"BL", "GF", "GP", "MC", "MF", "MQ", "NC", "PF", "PM", "RE", "TF", "WF", "YT"}),
    "GB": frozenset({"GG", "IM", "JE"}),
    "MC": frozenset({"FR"}),
    "NO": frozenset({"SJ"}),
}
"""Countries of banks beside that of the IBAN: territories without IBANs of their own, and Monaco's French banks."""

ADDRESS_PARTS = 4
ADDRESS_CHARS_MAX = {"street_name": 70, "building_number": 16, "postcode": 16, "town_name": 35, "country": 2}
"""Of each part of an address, as in ISO 20022."""

REFERENCE_DIGITS = 20
"""Digits alone, though the standard knows letters: the check digits miss none that is wrong, nor two that are swapped."""

REFERENCE = re.compile(rf"(?=(RF[0-9]{{{2 + REFERENCE_DIGITS}}}))")
NO_IBAN = "This must be the IBAN of a SEPA account, such as FR14 2004 1010 0505 0001 3M02 606."
AS_WRITTEN = str.maketrans({"O": "0", "I": "1", "L": "1"})

DAY = timedelta(days=1)
SATURDAY = 5
CLOSED = frozenset({(1, 1), (5, 1), (12, 25), (12, 26)})
"""Month and day. Good Friday and Easter Monday are closing days as well."""


def parse_iban(text: str) -> str | None:
    """The account's name without spaces, in capitals; None where it is no account of the euro area of payments."""
    iban = re.sub(r"[ \u00a0]", "", text).upper()
    if not IBAN.fullmatch(iban) or len(iban) != SEPA_IBAN_CHARS.get(iban[:2]):
        return None
    return iban if _remainder(iban) == 1 else None


def iban_error(text: str) -> Translatable | None:
    """Which rule a text breaks that must be the name of such an account; None if it breaks none."""
    iban = re.sub(r"[ \u00a0]", "", text).upper()
    country, length = iban[:2], SEPA_IBAN_CHARS.get(iban[:2])
    if re.fullmatch(r"[A-Z]{2}[A-Z0-9]*", iban) is None:
        return NO_IBAN
    if length is None:
        return Text(
            "%(country)s is not a country of SEPA. Enter the IBAN of an account that receives SEPA transfers.",
            country=country,
        )
    if len(iban) != length:
        return Text(
            "An IBAN of %(country)s has %(length)s characters; this one has %(count)s.",
            country=country,
            length=length,
            count=len(iban),
        )
    if IBAN.fullmatch(iban) is None:
        return NO_IBAN
    if _remainder(iban) != 1:
        return "The check digits of this IBAN are wrong. Compare it with the original: a digit is wrong, or two are swapped."
    return None


def parse_bic(text: str) -> str | None:
    """The bank's name in capitals; None where it cannot be one."""
    bic = text.strip().upper()
    return bic if BIC.fullmatch(bic) else None


def is_bic_of(bic: str, iban: str) -> bool:
    """Whether a bank with this BIC can have an account with this IBAN, by their countries."""
    country, own = bic[4:6], iban[:2]
    return country == own or country in SHARED_BIC_COUNTRIES.get(own, ())


class PostalAddress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A structured address (ISO 20022). `country` is a code of two letters (ISO 3166)."""

    street_name: str | None = None
    building_number: str | None = None
    postcode: str | None = None
    town_name: str
    country: str

    def __str__(self) -> str:
        """In the form that `parse_address` reads."""
        return "; ".join((self._street, self.postcode or "", self.town_name, self.country))

    @property
    def line(self) -> str:
        """On one line, for people."""
        town = " ".join(filter(None, (self.postcode, self.town_name)))
        return ", ".join(filter(None, (self._street, town, self.country)))

    @property
    def _street(self) -> str:
        return " ".join(filter(None, (self.street_name, self.building_number)))


def parse_address(text: str) -> PostalAddress | None:
    """An address written as `street; postal code; city; country`; None if it is none."""
    parts = [part.strip() for part in text.split(";")]
    if len(parts) != ADDRESS_PARTS or not all(part and part.isprintable() for part in parts):
        return None
    street_name, postcode, town_name, country = parts
    return read_address({"street_name": street_name, "postcode": postcode, "town_name": town_name, "country": country})


def read_address(parts: Any) -> PostalAddress | None:
    """The address of an object with its parts; None if it is none, or a part is empty or too long."""
    try:
        address = msgspec.convert(parts, PostalAddress)
    except msgspec.ValidationError:
        return None
    given = [(text, most) for name, most in ADDRESS_CHARS_MAX.items() if (text := getattr(address, name)) is not None]
    if not all(0 < len(text) <= most for text, most in given) or re.fullmatch("[A-Z]{2}", address.country) is None:
        return None
    return address


def creditor_reference(body: str) -> str:
    """Digits as a structured reference (ISO 11649): `RF`, two check digits, and those."""
    return f"RF{98 - _remainder(f'RF00{body}'):02d}{body}"


def creditor_references(text: str) -> set[str]:
    """Every reference of our form in what a customer wrote, however it is spaced, if its check digits are right."""
    written = "".join(char for char in text.upper() if char.isalnum()).translate(AS_WRITTEN)
    return {found[1] for found in REFERENCE.finditer(written) if _remainder(found[1]) == 1}


def _remainder(name: str) -> int:
    """ISO 7064 MOD 97-10: the first four characters go to the end, letters count from 10."""
    return int("".join(str(int(char, 36)) for char in name[4:] + name[:4])) % 97


def is_bank_day(day: date) -> bool:
    """Whether banks settle on this day."""
    if day.weekday() >= SATURDAY or (day.month, day.day) in CLOSED:
        return False
    sunday = easter(day.year)
    return day not in {sunday - 2 * DAY, sunday + DAY}


def bank_days_between(first: date, last: date) -> int:
    """The number of bank days after the first day, until the last one."""
    return sum(is_bank_day(first + nth * DAY) for nth in range(1, (last - first).days + 1))


def before_bank_days(now: datetime, count: int) -> datetime:
    """The beginning of the day, in UTC, before which anything is more than this many bank days ago."""
    day = now.astimezone(UTC).date()
    while count > 0:
        count -= is_bank_day(day)
        day -= DAY
    while not is_bank_day(day):
        day -= DAY
    return midnight(day, UTC)


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (Meeus, Jones and Butcher)."""
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    month, day = divmod(h + k - 7 * m + 114, 31)
    return date(year, month, day + 1)
