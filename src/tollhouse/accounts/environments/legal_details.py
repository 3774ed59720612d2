"""The legal details of a merchant, as receipts show them. Every part is optional and empty if it is not known."""

from msgspec import Struct

from tollhouse.http.languages import ENGLISH, country_names
from tollhouse.kernel import limits, messages
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.names import is_readable


class LegalDetails(Struct, frozen=True, kw_only=True):
    """Legal name, address, tax ID and register entry. `country` is an ISO 3166 code."""

    legal_name: str = ""
    address_line1: str = ""
    address_line2: str = ""
    postal_code: str = ""
    city: str = ""
    country: str = ""
    tax_id: str = ""
    register_entry: str = ""

    def field_errors(self) -> list[FieldError]:
        """The errors of every invalid field."""
        field_errors = [
            FieldError(name, "invalid_value", messages.plain_text(None, chars_max))
            for name, chars_max in CHARS_MAX.items()
            if len(text := str(getattr(self, name))) > chars_max or not is_readable(text)
        ]
        if self.country and self.country not in country_names():
            field_errors.append(FieldError("country", "invalid_value", messages.A_CHOICE))
        return field_errors

    def address_lines(self, language: str = ENGLISH) -> list[str]:
        """The address, a text for each line."""
        town = f"{self.postal_code} {self.city}".strip()
        country = country_names(language).get(self.country, self.country)
        return [line for line in (self.address_line1, self.address_line2, town, country) if line]


CHARS_MAX = {
    "legal_name": limits.BUSINESS_NAME_CHARS_MAX,
    "address_line1": limits.ADDRESS_LINE_CHARS_MAX,
    "address_line2": limits.ADDRESS_LINE_CHARS_MAX,
    "postal_code": limits.POSTAL_CODE_CHARS_MAX,
    "city": limits.CITY_CHARS_MAX,
    "tax_id": limits.TAX_ID_CHARS_MAX,
    "register_entry": limits.REGISTER_ENTRY_CHARS_MAX,
}
LEGAL_FIELDS = LegalDetails.__struct_fields__
