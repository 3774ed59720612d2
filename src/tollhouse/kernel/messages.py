"""What is wrong with a field, as sentences that state the rule and its bound. Forms show them as they are.

Each begins with "This", which stands for the field: an API answer writes the field's name in its place (`named`).
"""

from collections.abc import Sequence

from tollhouse.kernel.text import Text, Translatable

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
AN_EMAIL = "This must be an email address, such as name@example.com."
ANOTHER_EMAIL = "This is your email address already."
A_PHONE_NUMBER = "This must be a phone number, such as +49 30 901820."
A_COLOR = "This must be a color such as #1a6b4f."
A_WEB_ADDRESS = "This must be an http or https URL without a user name, at most 2,048 characters long."
AN_HTTPS_ADDRESS = "This must be an https URL without a user name, at most 2,048 characters long."
A_RETURN_ADDRESS = "This must be an https URL (in test mode also http) without a user name, at most 2,048 characters long."
AN_UPLOADED_LOGO = "This must be the URL of a logo that this account has uploaded, or of an image of another server."
A_SCOPE = "This must be a scope from GET /api/v2/oauth/permissions."
A_GRANTED_SCOPE = "This must be a scope that the connection has. New permissions need a new consent."
AN_API_SCOPE = "This must contain at least one scope other than offline_access."
NO_OFFLINE_SCOPE = "This must contain at least one scope from GET /api/v2/oauth/permissions, and not offline_access."
A_PAYMENT_METHOD = "This must be a payment method from GET /payment-methods."
A_METHOD_OF_CURRENCY = "This must be a payment method from GET /payment-methods for the currency of the payment."
A_METHOD_OF_AMOUNT = "This must be a payment method that accepts the amount. GET /payment-methods shows the limits."
A_NETWORK = "This must be a network from GET /currencies."
AN_EVENT_TYPE = "This must be one of the documented event types."
A_TIME_ZONE = "This must be a time zone from the list."
A_CHOICE = "This must be a value from the list."
A_PROJECT = "This must be a project of this environment."
A_METADATA_KEY = "This must have keys of 1 to 40 letters, digits, dots, dashes and underscores."
A_LINK_EXPIRY = "This must be 5 minutes to 365 days in the future."
SAVED_RECIPIENTS = "This must contain saved recipients of this environment only."
A_NETWORK_ADDRESS = "This must be an IPv4 or IPv6 network, such as 203.0.113.0/24 or 2001:db8::/32."
NO_CONTROLS = "This must not contain control, bidirectional or zero-width characters."
ONLY_LINE_BREAKS = "This must not contain control, bidirectional or zero-width characters other than line feeds."
READABLE = "This must not contain control, bidirectional or invisible characters."
NO_REPEAT = "This must not repeat an earlier entry."
CONFIDENTIAL = "This must be confidential: a public application has no secret."
ROTATION_OF_KEYS = "This must not be private_key_jwt: the application signs with its key and has no secret."
AN_HTTPS_URL = "This must be an https URL."
A_KEY_SET = "This must be a JSON Web Key Set: an object with a list of 1 to 20 keys."
A_PUBLIC_KEY = "This must be a public key: EC with P-256, OKP with Ed25519, or RSA with 2,048 to 4,096 bits."
NOT_WITH_JWKS = "This cannot be set together with jwks. Set one of them."
KEYS_FOR_SIGNATURES = "This is required for private_key_jwt, unless jwks_uri is set."
REFRESHES_FOR_OFFLINE = "offline_access needs the grant type refresh_token."
FIXED = "This cannot be changed after creation."
OF_A_WITHDRAWAL = "This belongs to a withdrawal, not to its recipient. Send it with the withdrawal."
OF_A_RECIPIENT = "This is saved with the recipient. Omit it, or omit recipient_id."
NOT_IN_BATCHES = "This is for single withdrawals. Omit it in a batch."
USED_ALREADY = "This is in use already, or twice in the batch. Send a different one."
AMOUNT_OR_KEEP = "This cannot be sent together with amount. Send one of them."
ONLY_ONCE = "This is required for the frequency once, and only for that."
NO_DAY = "This is for the frequencies weekly and monthly only."
WITHIN_90_DAYS = "This must be in the future, at most 90 days ahead."
RECIPIENT_DELETED = "The recipient was deleted."
A_SAVED_RECIPIENT = "This must be a saved recipient: this account withdraws to no others."
METHOD_OF_RECIPIENT = "This must be the method of the recipient."
AN_ID = "This must be the ID of an existing object."
NOT_BEFORE_FIRST_DAY = "This must not be before the first day."
NOT_IN_FUTURE = "This must not be in the future."
BEFORE_END = "This must be before the end."
AT_MOST_A_YEAR = "This must be at most 366 days before the end."
A_SHALLOW_PAGE = "This must end within the first 10,000 rows. Use cursor to continue."
A_CURSOR = "This must be a next_cursor from this list, unchanged."
NOT_WITH_ASSERTION = "This cannot be sent together with assertion. Send one of them."
NOT_WITH_CURSOR = "This cannot be sent together with cursor. Send one of them."
AFTER_CREATED_FROM = "This must be later than created_from."


def named(message: Translatable, field: str) -> str:
    """The sentence with the field's name as its subject, for answers that programs and their authors read."""
    english = str(message)
    return f"`{field}` {english.removeprefix(SUBJECT)}" if field and english.startswith(SUBJECT) else english


def unknown_field(suggestion: str) -> Translatable:
    """A member that is not known, and the one that may have been meant."""
    return Text("This is not a known field. Did you mean %(suggestion)s?", suggestion=f"`{suggestion}`")


def whole_number(least: int | None, most: int | None) -> Translatable:
    """A number within bounds."""
    if least is not None and most is not None:
        return Text("This must be a whole number from %(least)s to %(most)s.", least=least, most=most)
    if least is not None:
        return Text("This must be a whole number of at least %(least)s.", least=least)
    return A_WHOLE_NUMBER if most is None else Text("This must be a whole number of at most %(most)s.", most=most)


def whole_number_or_null(least: int, most: int) -> Translatable:
    """A number within bounds, or none."""
    return Text("This must be a whole number from %(least)s to %(most)s, or null for no limit.", least=least, most=most)


def characters(least: int | None, most: int | None) -> Translatable:
    """A text of bounded length."""
    if least and most is not None:
        return Text("This must be %(least)s to %(most)s characters long.", least=least, most=most)
    if least:
        return Text("This must be at least %(least)s characters long.", least=least)
    return A_STRING if most is None else Text("This must be at most %(most)s characters long.", most=most)


def pattern(expression: str) -> Translatable:
    """A text of a certain form."""
    return Text("This must match the pattern %(expression)s.", expression=expression)


def plain_text(least: int | None, most: int) -> Translatable:
    """A text of bounded length without control characters."""
    if least:
        return Text(
            "This must be %(least)s to %(most)s characters long, without control or invisible characters.",
            least=least,
            most=most,
        )
    return Text("This must be at most %(most)s characters long, without control or invisible characters.", most=most)


def decimal(digits: int) -> Translatable:
    """An amount."""
    if not digits:
        return "This must be a decimal string above zero without a point, such as 1050."
    return Text(
        "This must be a decimal string above zero with at most %(digits)s digits after the point, such as 10.50.",
        digits=digits,
    )


def items(least: int | None, most: int | None) -> Translatable:
    """A list or object of bounded size."""
    if least and most is not None:
        return Text("This must have %(least)s to %(most)s entries.", least=least, most=most)
    if least:
        return Text("This must have at least %(least)s entries.", least=least)
    return A_LIST if most is None else Text("This must have at most %(most)s entries.", most=most)


def one_of(values: Sequence[object]) -> Translatable:
    """One of the allowed values."""
    return Text("This must be one of: %(values)s.", values=", ".join(map(str, values)))


def number_or(least: int | None, words: Sequence[object]) -> Translatable:
    """A number, or one of some words."""
    return Text(
        "This must be a whole number of at least %(least)s, or one of: %(words)s.",
        least=least or 0,
        words=", ".join(map(str, words)),
    )
