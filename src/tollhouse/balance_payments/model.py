"""A balance payment and what becomes of it, without a database."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId

Status = Literal["reserved", "captured", "released", "expired", "partially_refunded", "refunded"]
CAPTURED: frozenset[Status] = frozenset({"captured", "partially_refunded"})
"""There is something to refund."""

NO_LEAD = timedelta()


class Application(Struct, frozen=True):
    """An application, and the merchant that owns it."""

    client_id: ClientId
    owner_id: MerchantId


class BalancePayment(Struct, frozen=True, kw_only=True):
    """Money of a merchant (`env`) for the owner of an application: set aside at first, or paid at once (no hold).

    What it was made for is captured, or released, or still set aside. `clock_offset` is how far the paying merchant has
    moved
    its test clock.
    """

    id: UUID
    env: MerchantEnv
    client_id: ClientId
    owner_id: MerchantId
    currency: str
    amount_minor: int
    captured_minor: int = 0
    released_minor: int = 0
    refunded_minor: int = 0
    refunds: int = 0
    hold_id: UUID | None
    status: Status
    description: str | None
    external_id: str | None
    metadata: dict[str, str]
    version: int = 1
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    resolved_at: datetime | None
    clock_offset: timedelta = NO_LEAD

    @property
    def owner(self) -> MerchantEnv:
        """Who is paid, in the same environment."""
        return MerchantEnv(self.owner_id, self.env.mode)

    @property
    def refundable_minor(self) -> int:
        """What the owner was paid and has not given back."""
        return self.captured_minor - self.refunded_minor

    def status_at(self, now: datetime) -> Status:
        """The status at this moment: a reservation is over when its time is, whether or not anybody wrote it down."""
        over = self.status == "reserved" and self.expires_at is not None and now + self.clock_offset >= self.expires_at
        return "expired" if over else self.status

    def captured(self, amount_minor: int, now: datetime) -> "BalancePayment":
        """The same with so much of it paid, and the rest given back."""
        return self._next(
            status="captured",
            captured_minor=amount_minor,
            released_minor=self.amount_minor - amount_minor,
            resolved_at=now,
            updated_at=now,
        )

    def given_back(self, status: Literal["released", "expired"], now: datetime) -> "BalancePayment":
        """The same with nothing of it paid."""
        return self._next(status=status, released_minor=self.amount_minor, resolved_at=now, updated_at=now)

    def refunded(self, amount_minor: int, now: datetime) -> "BalancePayment":
        """The same with so much more of it refunded."""
        left_minor = self.refundable_minor - amount_minor
        return self._next(
            status="partially_refunded" if left_minor else "refunded",
            refunded_minor=self.refunded_minor + amount_minor,
            refunds=self.refunds + 1,
            updated_at=now,
        )

    def _next(self, **changes: object) -> "BalancePayment":
        return msgspec.structs.replace(self, version=self.version + 1, **changes)
