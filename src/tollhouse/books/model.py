"""Which ledger entries a person looks at, and from where in the list on."""

from datetime import datetime, tzinfo
from typing import Literal

import msgspec
from msgspec import Struct

from tollhouse.http.days import BEGINNING, END, span_of
from tollhouse.http.keyset import KeysetQuery


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
        since, until = span_of(self.since, self.until, zone)
        return Wanted(currency=self.currency, account=self.account, type=self.type, since=since, until=until)
