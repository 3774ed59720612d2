"""Filters by day: the days in a URL as an interval of time."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo

from tollhouse.kernel import messages
from tollhouse.kernel.clock import parse_date
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.zones import midnight

BEGINNING, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)


def time_range_of(first: str, last: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """The start of the first day and the end of the last one in this zone; unbounded where none is given.

    Raises `ValidationFailed` with every error of the fields `from` and `to`.
    """
    since, until = parse_date(first), parse_date(last)
    if field_errors := list(_errors(first, since, last, until)):
        raise ValidationFailed(*field_errors)
    return (
        BEGINNING if since is None else midnight(since, zone),
        END if until is None else midnight(until + timedelta(days=1), zone),
    )


def _errors(first: str, since: date | None, last: str, until: date | None) -> Iterator[FieldError]:
    for name, text, day in (("from", first, since), ("to", last, until)):
        if text and day is None:
            yield FieldError(name, "invalid_value", messages.A_DAY)
    if since is not None and until is not None and since > until:
        yield FieldError("to", "out_of_range", messages.NOT_BEFORE_FIRST_DAY)
