"""Amounts as the provider writes them: in minor units of its own, which differ from ISO 4217 for a few currencies."""

HUNDREDTHS_AT_PROVIDER = frozenset({"ISK", "UGX"})
"""No minor units by ISO 4217; the provider writes hundredths, which are zero."""
WHOLE_AT_PROVIDER = frozenset({"MGA"})
"""Two decimals by ISO 4217; the provider writes whole units."""
TENS_OF_THOUSANDTHS = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
"""Three decimals, of which the provider takes two: the last digit is a zero."""
HUNDRED, TEN = 100, 10


class InexactAmountError(ValueError):
    """The provider cannot take this amount, or it reported one that has no equivalent here."""


def to_provider(currency: str, amount_minor: int) -> int:
    """An amount in minor units as the provider writes it. Raises `InexactAmountError`."""
    if currency in HUNDREDTHS_AT_PROVIDER:
        return amount_minor * HUNDRED
    if currency in WHOLE_AT_PROVIDER:
        return _divided(amount_minor, HUNDRED)
    if currency in TENS_OF_THOUSANDTHS:
        return _divided(amount_minor, TEN) * TEN
    return amount_minor


def from_provider(currency: str, provider_minor: int) -> int:
    """An amount of the provider in minor units. Raises `InexactAmountError`."""
    if currency in HUNDREDTHS_AT_PROVIDER:
        return _divided(provider_minor, HUNDRED)
    return provider_minor * HUNDRED if currency in WHOLE_AT_PROVIDER else provider_minor


def _divided(minor: int, by: int) -> int:
    whole, rest = divmod(minor, by)
    if rest:
        raise InexactAmountError(f"{minor} is not a multiple of {by}")
    return whole
