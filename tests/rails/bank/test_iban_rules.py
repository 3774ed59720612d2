"""Which rule a wrong IBAN breaks."""

import pytest

from tollhouse.kernel.bank_codes import SEPA_IBAN_CHARS, iban_error, parse_iban


@pytest.mark.parametrize(
    ("typed", "begins"),
    [
        ("", "This must be the IBAN"),
        ("12345678", "This must be the IBAN"),
        ("DE89-3704", "This must be the IBAN"),
        ("DEXX370400440532013000", "This must be the IBAN"),
        ("US64SVBKUS6S3300958879", "US is not a country of SEPA."),
        ("DE8937040044053201300", "An IBAN of DE has 22 characters; this one has 21."),
        ("DE893704004405320130000", "An IBAN of DE has 22 characters; this one has 23."),
        ("DE89370400440532013001", "The check digits of this IBAN are wrong."),
        ("DE98370400440532013000", "The check digits of this IBAN are wrong."),
    ],
)
def test_a_wrong_iban_says_which_rule_it_breaks(typed: str, begins: str) -> None:
    assert parse_iban(typed) is None
    assert str(iban_error(typed)).startswith(begins)


def test_what_is_right_breaks_none() -> None:
    for typed in ("DE89 3704 0044 0532 0130 00", "fr14 2004 1010 0505 0001 3m02 606"):
        assert parse_iban(typed)
        assert iban_error(typed) is None
    assert all(iban_error(f"{country}00") is not None for country in SEPA_IBAN_CHARS)
