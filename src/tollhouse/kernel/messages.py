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
