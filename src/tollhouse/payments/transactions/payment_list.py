"""The dashboard's list of payments: its rows and filters. The export uses them too."""

from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.lists import KeysetQuery
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import ANY_AMOUNT, AmountBounds, AmountFilter
from tollhouse.kernel.clock import midnight, parse_date
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.payments.transactions.model import REFUNDABLE, RefundRequiredReason, TransactionStatus

DAY = timedelta(days=1)


class PaymentRow(Struct, frozen=True, kw_only=True):
    """A payment with its link's data, as of the time of the query.

    `tax_minor` is in the currency of the link, and zero as on the receipt where the payment is for another amount.
    """

    id: UUID
    created_at: datetime
    updated_at: datetime
    succeeded_at: datetime | None
    status: TransactionStatus
    currency: str
    amount_minor: int
    received_minor: int
    credited_minor: int
    fee_minor: int
    refunded_minor: int
    method_id: str
    failure_code: str | None
    refund_required_reason: RefundRequiredReason | None
    late: bool
    payment_link_id: UUID
    project_id: UUID
    display_name: str
    external_id: str | None
    customer_email: str | None
    link_currency: str
    tax_minor: int
    receipt_number: str | None

    @property
    def has_refundable_status(self) -> bool:
        """Whether its status allows refunds."""
        return self.status in REFUNDABLE


class PaymentListFilter(Struct, frozen=True):
    """Filters; None means any. The order is that of the statements' parameters.

    `reference` is the link's `external_id` or the customer's email.
    """

    status: str | None = None
    currency: str | None = None
    payment_link_id: UUID | None = None
    method_id: str | None = None
    project_id: UUID | None = None
    reference: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    amounts: AmountBounds = ANY_AMOUNT

    @property
    def values(self) -> tuple[object, ...]:
        """The values of the statements' parameters."""
        return (*msgspec.structs.astuple(self)[:-1], *msgspec.structs.astuple(self.amounts))


class PaymentsQuery(KeysetQuery, AmountFilter, frozen=True, forbid_unknown_fields=True):
    """The filters in the query string. Empty means no filter; an unknown value matches nothing.

    `from` and `to` are days in the merchant's time zone, both included. Amounts are as people type them.
    """

    status: Literal["", TransactionStatus] = ""
    method_id: str = ""
    currency: str = ""
    project_id: str = ""
    payment_link_id: str = ""
    reference: str = ""
    start: str = msgspec.field(name="from", default="")
    to: str = ""
    amount: str = ""
    amount_from: str = ""
    amount_to: str = ""

    @property
    def filters(self) -> int:
        """The number of filters set."""
        form_values = (self.status, self.method_id, self.currency, self.project_id, self.payment_link_id, self.reference)
        return sum(bool(value) for value in (*form_values, self.start, self.to, self.typed_amounts))

    @property
    def form_values(self) -> dict[str, str]:
        """The values of the form's fields."""
        fields = {field.encode_name: getattr(self, field.name) for field in msgspec.structs.fields(type(self))}
        return {name: value for name, value in fields.items() if isinstance(value, str)}

    def to_filter(self, zone: tzinfo, currencies: Mapping[str, Currency]) -> PaymentListFilter:
        """The filter for the store. Raises `ValidationFailed` with every invalid field."""
        amounts, field_errors = ANY_AMOUNT, list[FieldError]()
        try:
            amounts = self.amounts(currencies)
        except ValidationFailed as error:
            field_errors += error.field_errors
        start, end = parse_date(self.start), parse_date(self.to)
        field_errors += [
            FieldError(name, "invalid_value", messages.AN_ID)
            for name, typed in (("project_id", self.project_id), ("payment_link_id", self.payment_link_id))
            if typed and parse_id(typed) is None
        ]
        for name, typed, day in (("from", self.start, start), ("to", self.to, end)):
            if typed and day is None:
                field_errors.append(FieldError(name, "invalid_value", messages.A_DAY))
        if start is not None and end is not None and end < start:
            field_errors.append(FieldError("to", "invalid_value", messages.NOT_BEFORE_FIRST_DAY))
        if field_errors:
            raise ValidationFailed(*field_errors)
        return PaymentListFilter(
            status=self.status or None,
            currency=self.currency or None,
            payment_link_id=parse_id(self.payment_link_id),
            method_id=self.method_id or None,
            project_id=parse_id(self.project_id),
            reference=self.reference.strip() or None,
            created_from=None if start is None else midnight(start, zone),
            created_to=None if end is None else midnight(end + DAY, zone),
            amounts=amounts,
        )
