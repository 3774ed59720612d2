"""Which ledger entries a person looks at, and from where in the list on."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import day_of
from tollhouse.kernel.refusals import Fault, ValidationFailed
from tollhouse.kernel.zones import midnight
from tollhouse.web.keyset import KeysetQuery

BEGINNING, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
LAST_ID = UUID(int=2**128 - 1)


class Place(Struct, frozen=True):
    """Where in the list an entry stands: by its moment, and by its id among those of the same one."""

    at: datetime
    id: UUID


NEWEST = Place(END, LAST_ID)


class Wanted(Struct, frozen=True):
    """Which entries are meant; empty leaves a filter out. From `since`, within, until `until`, without."""

    currency: str = ""
    account: str = ""
    type: str = ""
    since: datetime = BEGINNING
    until: datetime = END


class LedgerQuery(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """`?currency=&account=&type=&from=&to=&before=` of the ledger's page. Empty is no filter.

    The days begin in the merchant's time zone, and `to` is within.
    """

    currency: str = ""
    account: Literal["", "available", "pending", "reserved", "debt"] = ""
    type: str = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")

    @property
    def filters(self) -> bool:
        """Whether not every entry is meant."""
        return bool(self.currency or self.account or self.type or self.since or self.until)

    def wanted(self, zone: tzinfo) -> Wanted:
        """What is meant. Raises `ValidationFailed` with every fault."""
        since, until = day_of(self.since), day_of(self.until)
        if faults := list(self._faults(since, until)):
            raise ValidationFailed(*faults)
        return Wanted(
            currency=self.currency,
            account=self.account,
            type=self.type,
            since=BEGINNING if since is None else midnight(since, zone),
            until=END if until is None else midnight(until + timedelta(days=1), zone),
        )

    def _faults(self, since: date | None, until: date | None) -> Iterator[Fault]:
        for name, typed, day in (("from", self.since, since), ("to", self.until, until)):
            if typed and day is None:
                yield Fault(name, "invalid_value", "A day, such as 2026-11-21.")
        if since is not None and until is not None and since > until:
            yield Fault("to", "out_of_range", "This must not be before the first day.")
