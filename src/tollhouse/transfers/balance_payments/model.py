"""Balance payments: their transitions, errors and JSON, and the bodies of requests about them."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from tollhouse.accounts.identity.model import Caller
from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.http.record_views import After, RecordView, ShownAs, view_of
from tollhouse.kernel import limits
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of, optional_amount_errors
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.clock import status_at
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.platform.database.records import Internal, Json, Record
from tollhouse.transfers.orders.store import CLOCK_OFFSET

BalancePaymentStatus = Literal["reserved", "captured", "released", "expired", "partially_refunded", "refunded"]
"""State of a balance payment.

reserved: The amount is set aside for the application's owner.
captured: The owner got it.
released: The owner released it.
expired: It was not captured in time.
partially_refunded: A part was refunded.
refunded: All was refunded.
"""
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
    """State of the balance payment."""
    amount_minor: int
    captured_minor: int = 0
    """What was captured for the application's owner."""
    released_minor: int = 0
    """What was returned to the merchant without being captured."""
    refunded_minor: int = 0
    """What the owner refunded."""
    currency: str
    description: str | None
    """What the payment is for."""
    external_id: str | None
    metadata: Json[dict[str, str]]
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    resolved_at: Annotated[datetime | None, example("2026-11-21T09:30:00.000Z")]
    """When the reservation was captured, released or expired."""
    version: int = 1
    owner_id: Internal[MerchantId]
    refunds: Internal[int] = 0
    hold_id: Internal[UUID | None]
    credential_id: Internal[UUID | None] = None
    """The connection or API key that asked for it."""
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
        return status_at(self.status, "reserved", self.expires_at, now + self.clock_offset)

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


class SelfPayment(ApiError):
    """422: the application belongs to the paying merchant."""

    code, status = "self_payment_not_allowed", 422
    message = "The application belongs to the paying merchant. A merchant cannot pay itself."
    solution = "Use a connection of another merchant."


class CaptureTooLarge(ApiError):
    """422: the capture exceeds the reserved amount."""

    code, status = "amount_above_maximum", 422
    message = "The capture exceeds the reserved amount."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class PayerSuspended(ApiError):
    """409: nothing is captured from a suspended merchant. Its reservations can be released, and expire."""

    code, status = "payer_suspended", 409
    message = "The paying merchant is suspended. The reservation can only be released."
    solution = "Release the reservation, or wait until the merchant is reactivated."


class RevokedApplicationCapture(ApiError):
    """409: reservations of a revoked application can be released only."""

    code, status = "application_revoked", 409
    message = "This application is revoked. Its reservations can only be released."


@view_of(BalancePayment)
class BalancePaymentView(RecordView, frozen=True, kw_only=True):
    """GET /balance-payments/{id}. `merchant_id` pays the owner of the application `oauth_client_id`."""

    object: Annotated[Literal["balance_payment"], After("id")] = "balance_payment"
    merchant_id: Annotated[MerchantId, After("object")]
    """ID of the merchant who pays."""


def payment_view(payment: BalancePayment, now: datetime, catalogue: Catalogue) -> BalancePaymentView:
    """A payment with its status at this time."""
    return BalancePaymentView.of(payment, catalogue, merchant_id=payment.env.merchant_id, status=payment.status_at(now))


class NewBalancePayment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A payment to make. With `capture` false the amount is only reserved, for at most `expires_in` seconds.

    `oauth_client_id` names the application whose owner is paid: required with an API key, implied by an access token.
    """

    amount: Amount
    currency: str
    capture: Annotated[bool, example(False)] = True
    """If `false`, the amount is reserved, and captured by another request."""
    expires_in: Annotated[int, Meta(ge=limits.RESERVATION_S_MIN, le=limits.RESERVATION_S_MAX)] | None = None
    """Number of seconds until a reservation is released."""
    description: Annotated[
        Annotated[str, Meta(max_length=limits.BALANCE_PAYMENT_DESCRIPTION_CHARS_MAX)] | None, example("Stall 7")
    ] = None
    """What the payment is for."""
    external_id: str | None = None
    metadata: dict[str, str] | None = None
    oauth_client_id: str | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _field_errors(self, context.caller, context.catalogue)


class PartialAmount(Struct, frozen=True, forbid_unknown_fields=True):
    """The amount to capture or refund. Omitted: all of it."""

    amount: Annotated[Amount, example("4.20")] = None

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """The errors that do not depend on the currency."""
        return optional_amount_errors(self.amount)


def parse(new: NewBalancePayment, caller: Caller, catalogue: Catalogue) -> tuple[Currency | None, int]:
    """The currency, None for an unknown code, and the amount in minor units. Raises `ValidationFailed` with every error."""
    known = catalogue.currencies.get(new.currency)
    amount_minor = minor_of(new.amount, known)
    field_errors = list(_field_errors(new, caller, catalogue))
    if field_errors or amount_minor is None:
        raise ValidationFailed(*field_errors)
    return known, amount_minor


def minor_of_part(part: PartialAmount, code: str, catalogue: Catalogue) -> int | None:
    """The amount in minor units; None for all of it. Raises `ValidationFailed`."""
    if part.amount is None:
        return None
    amount_minor = minor_of(part.amount, catalogue.currencies[code])
    if amount_minor is None:
        raise ValidationFailed(amount_error(catalogue.currencies[code]))
    return amount_minor


def _field_errors(new: NewBalancePayment, caller: Caller, catalogue: Catalogue) -> Iterator[FieldError]:
    known = catalogue.currencies.get(new.currency)
    if minor_of(new.amount, known) is None:
        yield amount_error(known)
    if new.capture and new.expires_in is not None:
        yield FieldError("expires_in", "not_applicable", "Omit this member unless capture is false.")
    yield from _application_errors(new, caller)
    yield from reference_errors(external_id=new.external_id, metadata=new.metadata, description=new.description)


def _application_errors(new: NewBalancePayment, caller: Caller) -> Iterator[FieldError]:
    if caller.client_id is None and new.oauth_client_id is None:
        yield FieldError(
            "oauth_client_id",
            "missing",
            "With an API key, this must be the client ID of the application whose owner is paid.",
        )
    if caller.client_id is not None and new.oauth_client_id not in {None, caller.client_id}:
        yield FieldError(
            "oauth_client_id", "invalid_value", "This must be the application of the access token. You can omit it."
        )
