"""What banks call things: accounts (IBAN), each other (BIC), and payments (creditor reference), with their check digits."""

import re

from msgspec import Struct

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

ADDRESS_PARTS = 4
ADDRESS_CHARS_MAX = (70, 16, 35, 2)
"""Of street, postal code, city and country, as in ISO 20022."""

REFERENCE_DIGITS = 20
"""Digits alone, though the standard knows letters: the check digits miss none that is wrong, nor two that are swapped."""

REFERENCE = re.compile(rf"(?=(RF[0-9]{{{2 + REFERENCE_DIGITS}}}))")
AS_WRITTEN = str.maketrans({"O": "0", "I": "1", "L": "1"})


def parse_iban(text: str) -> str | None:
    """The account's name without spaces, in capitals; None where it is no account of the euro area of payments."""
    iban = re.sub(r"[ \u00a0]", "", text).upper()
    if not IBAN.fullmatch(iban) or len(iban) != SEPA_IBAN_CHARS.get(iban[:2]):
        return None
    return iban if _remainder(iban) == 1 else None


def parse_bic(text: str) -> str | None:
    """The bank's name in capitals; None where it cannot be one."""
    bic = text.strip().upper()
    return bic if BIC.fullmatch(bic) else None


class PostalAddress(Struct, frozen=True):
    """A structured address. `country` is a code of two letters (ISO 3166)."""

    street: str
    postal_code: str
    city: str
    country: str

    def __str__(self) -> str:
        """In the form that `parse_address` reads."""
        return f"{self.street}; {self.postal_code}; {self.city}; {self.country}"


def parse_address(text: str) -> PostalAddress | None:
    """An address written as `street; postal code; city; country`; None if it is none."""
    parts = [part.strip() for part in text.split(";")]
    if len(parts) != ADDRESS_PARTS or not all(part and part.isprintable() for part in parts):
        return None
    if any(len(part) > most for part, most in zip(parts, ADDRESS_CHARS_MAX, strict=True)):
        return None
    return PostalAddress(*parts) if re.fullmatch("[A-Z]{2}", parts[-1]) else None


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
