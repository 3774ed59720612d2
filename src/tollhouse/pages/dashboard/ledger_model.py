"""Queries of the ledger pages."""

from datetime import datetime, tzinfo
from typing import Literal

import msgspec
from msgspec import Struct

from tollhouse.http.forms import BEGINNING, END, time_range_of
from tollhouse.http.lists import KeysetQuery


class LedgerFilter(Struct, frozen=True):
    """Which entries to list: `since` inclusive, `until` exclusive; empty matches all."""

    currency: str = ""
    account: str = ""
    type: str = ""
    since: datetime = BEGINNING
    until: datetime = END


class LedgerPageQuery(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """`?currency=&account=&type=&from=&to=&before=` of the ledger page. Empty matches all.

    Days are in the merchant's time zone, `to` is inclusive.
    """

    currency: str = ""
    account: Literal["", "available", "pending", "reserved", "debt"] = ""
    type: str = ""
    since: str = msgspec.field(name="from", default="")
    until: str = msgspec.field(name="to", default="")

    @property
    def filters(self) -> bool:
        """Whether a filter is set."""
        return bool(self.currency or self.account or self.type or self.since or self.until)

    def entry_filter(self, zone: tzinfo) -> LedgerFilter:
        """The filter. Raises `ValidationFailed`."""
        since, until = time_range_of(self.since, self.until, zone)
        return LedgerFilter(currency=self.currency, account=self.account, type=self.type, since=since, until=until)
