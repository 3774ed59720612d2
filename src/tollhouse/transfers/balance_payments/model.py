"""Balance payments and their transitions."""

from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.record_views import ShownAs
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.platform.database.records import Internal, Json, Record
from tollhouse.transfers.orders.store import CLOCK_OFFSET

BalancePaymentStatus = Literal["reserved", "captured", "released", "expired", "partially_refunded", "refunded"]
CAPTURED: frozenset[BalancePaymentStatus] = frozenset({"captured", "partially_refunded"})
"""The statuses that can be refunded."""

NO_OFFSET = timedelta()


class PayeeApplication(Struct, frozen=True):
    """An application, and the merchant that owns it and is paid."""

    client_id: ClientId
    owner_id: MerchantId
    name: str
    status: str


class BalancePayment(Struct, frozen=True, kw_only=True):
    """A payment of a merchant (`env`) to the owner of an application: reserved first, or captured at once without a hold.

    `clock_offset` is how far the paying merchant has advanced its test clock.
    """

    id: UUID
    client_id: Annotated[ClientId, ShownAs("oauth_client_id")]
    status: Annotated[BalancePaymentStatus, example("captured")]
    amount_minor: int
    captured_minor: int = 0
    released_minor: int = 0
    refunded_minor: int = 0
    currency: str
    description: str | None
    external_id: str | None
    metadata: Json[dict[str, str]]
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    resolved_at: Annotated[datetime | None, example("2026-11-21T09:30:00.000Z")]
    version: int = 1
    owner_id: Internal[MerchantId]
    refunds: Internal[int] = 0
    hold_id: Internal[UUID | None]
    clock_offset: Internal[Annotated[timedelta, CLOCK_OFFSET]] = NO_OFFSET

    @property
    def owner(self) -> MerchantEnv:
        """The environment of the merchant that is paid."""
        return MerchantEnv(self.owner_id, self.env.mode)

    @property
    def refundable_minor(self) -> int:
        """The captured amount that was not refunded yet."""
        return self.captured_minor - self.refunded_minor

    def status_at(self, now: datetime) -> BalancePaymentStatus:
        """The status at this time. A reservation expires at `expires_at`, even before its row is updated."""
        is_expired = self.status == "reserved" and self.expires_at is not None and now + self.clock_offset >= self.expires_at
        return "expired" if is_expired else self.status

    def captured(self, amount_minor: int, now: datetime) -> "BalancePayment":
        """The payment with an amount captured and the rest released."""
        return self._changed(
            status="captured",
            captured_minor=amount_minor,
            released_minor=self.amount_minor - amount_minor,
            resolved_at=now,
            updated_at=now,
        )

    def released(self, status: Literal["released", "expired"], now: datetime) -> "BalancePayment":
        """The payment with the whole amount released."""
        return self._changed(status=status, released_minor=self.amount_minor, resolved_at=now, updated_at=now)

    def refunded(self, amount_minor: int, now: datetime) -> "BalancePayment":
        """The payment with another amount refunded."""
        remaining_minor = self.refundable_minor - amount_minor
        return self._changed(
            status="partially_refunded" if remaining_minor else "refunded",
            refunded_minor=self.refunded_minor + amount_minor,
            refunds=self.refunds + 1,
            updated_at=now,
        )

    def _changed(self, **changes: object) -> "BalancePayment":
        return msgspec.structs.replace(self, version=self.version + 1, **changes)


BALANCE_PAYMENT = Record(BalancePayment, "balance_payments")
