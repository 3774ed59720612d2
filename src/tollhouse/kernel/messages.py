"""What is wrong with a field, as sentences that state the rule and its bound. Forms show them as they are.

Each begins with "This", which stands for the field: an API answer writes the field's name in its place (`named`).
"""

from collections.abc import Sequence

SUBJECT = "This "

REQUIRED = "This is required."
UNKNOWN_FIELD = "This is not a known field."
SENT_TWICE = "This must be sent only once."
WRONG = "This does not have the required format."
A_STRING = "This must be a string."
A_BOOLEAN = "This must be true or false."
A_LIST = "This must be a list."
AN_OBJECT = "This must be an object."
A_UUID = "This must be a UUID."
A_WHOLE_NUMBER = "This must be a whole number."
A_TIME = "This must be a time in RFC 3339 format with a time zone, such as 2026-11-21T00:00:00Z."
A_TIME_OR_DAY = "This must be a time such as 2026-11-21T00:00:00Z, or a date such as 2026-11-21."
A_DAY = "This must be a date such as 2026-11-21."
A_CURRENCY = "This must be a supported currency code, such as EUR."
A_CURRENCY_CODE = "This must be a currency code of 2 to 12 capital letters and digits."
AN_EMAIL = "This must be an e-mail address, such as name@example.com."
A_COLOR = "This must be a color such as #1a6b4f."
A_WEB_ADDRESS = "This must be an http or https URL without user name, at most 2,048 characters long."
AN_HTTPS_ADDRESS = "This must be an https URL without user name, at most 2,048 characters long."
A_RETURN_ADDRESS = "This must be an https URL (in test mode also http) without user name, at most 2,048 characters long."
A_SCOPE = "This must be a scope of GET /api/v2/oauth/permissions."
AN_API_SCOPE = "This must contain at least one scope other than offline_access."
NO_OFFLINE_SCOPE = "This must be at least one scope of GET /api/v2/oauth/permissions, without offline_access."
A_PAYMENT_METHOD = "This must be a payment method of GET /payment-methods."
A_METHOD_OF_CURRENCY = "This must be a payment method of GET /payment-methods for the currency of the payment."
A_METHOD_OF_AMOUNT = "This must be a payment method that accepts the amount. GET /payment-methods shows the limits."
A_NETWORK = "This must be a network of GET /currencies."
AN_EVENT_TYPE = "This must be one of the documented event types."
A_TIME_ZONE = "This must be a time zone from the list."
A_CHOICE = "This must be a value from the list."
A_PROJECT = "This must be a project of this environment."
A_METADATA_KEY = "This must have keys of 1 to 40 letters, digits, dots, dashes and underscores."
A_LINK_EXPIRY = "This must be 5 minutes to 365 days in the future."
NO_CONTROLS = "This must not contain control, bidirectional or zero-width characters."
ONLY_LINE_BREAKS = "This must not contain control, bidirectional or zero-width characters other than line breaks."
NO_REPEAT = "This must not repeat an earlier entry."
CONFIDENTIAL = "This must be confidential: a public application has no secret."
FIXED = "This cannot be changed after creation."
AN_ID = "This must be the ID of an existing object."
NOT_BEFORE_FIRST_DAY = "This must not be before the first day."
NOT_IN_FUTURE = "This must not be in the future."
BEFORE_END = "This must be before the end."
AT_MOST_A_YEAR = "This must be at most 366 days before the end."
A_SHALLOW_PAGE = "This must end within the first 10,000 rows. Use cursor to read further."
A_CURSOR = "This must be a next_cursor of this list, unchanged."
NOT_WITH_CURSOR = "This cannot be sent together with cursor. Send one of them."
AFTER_CREATED_FROM = "This must be later than created_from."


def named(message: str, field: str) -> str:
    """The sentence with the field's name as its subject, for answers that programs and their authors read."""
    return f"`{field}` {message.removeprefix(SUBJECT)}" if field and message.startswith(SUBJECT) else message


def whole_number(least: int | None, most: int | None) -> str:
    """A number within bounds."""
    if least is not None and most is not None:
        return f"This must be a whole number from {least:,} to {most:,}."
    if least is not None:
        return f"This must be a whole number of at least {least:,}."
    return A_WHOLE_NUMBER if most is None else f"This must be a whole number of at most {most:,}."


def whole_number_or_null(least: int, most: int) -> str:
    """A number within bounds, or none."""
    return f"This must be a whole number from {least:,} to {most:,}, or null for no limit."


def characters(least: int | None, most: int | None) -> str:
    """A text of bounded length."""
    if least and most is not None:
        return f"This must be {least:,} to {most:,} characters long."
    if least:
        return f"This must be at least {least:,} characters long."
    return A_STRING if most is None else f"This must be at most {most:,} characters long."


def pattern(expression: str) -> str:
    """A text of a certain form."""
    return f"This must match the pattern {expression}."


def text(least: int | None, most: int) -> str:
    """A text of bounded length without control characters."""
    if least:
        return f"This must be {least:,} to {most:,} characters long, without control or invisible characters."
    return f"This must be at most {most:,} characters long, without control or invisible characters."


def decimal(digits: int) -> str:
    """An amount."""
    if not digits:
        return "This must be a decimal string above zero without a point, such as 1050."
    return f"This must be a decimal string above zero with at most {digits} digits after the point, such as 10.50."


def items(least: int | None, most: int | None) -> str:
    """A list or object of bounded size."""
    if least and most is not None:
        return f"This must have {least:,} to {most:,} entries."
    if least:
        return f"This must have at least {least:,} entries."
    return A_LIST if most is None else f"This must have at most {most:,} entries."


def one_of(values: Sequence[object]) -> str:
    """One of the allowed values."""
    return f"This must be one of: {', '.join(str(value) for value in values)}."


def number_or(least: int | None, words: Sequence[object]) -> str:
    """A number, or one of some words."""
    return f"This must be a whole number of at least {least or 0:,}, or one of: {', '.join(map(str, words))}."
