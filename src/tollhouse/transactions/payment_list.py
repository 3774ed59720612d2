"""Payments as the dashboard lists and exports them: what is shown of each, and which ones a filter in an address means."""

from datetime import datetime, timedelta, tzinfo
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.keyset import KeysetQuery
from tollhouse.kernel import messages
from tollhouse.kernel.clock import day_of
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.zones import midnight
from tollhouse.transactions.model import RefundRequiredReason, TransactionStatus

DAY = timedelta(days=1)


class ListedPayment(Struct, frozen=True, kw_only=True):
    """One line: a payment as it is at the moment it is listed, and what its link says of it."""

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


class PaymentFilter(Struct, frozen=True):
    """Which payments are meant; None leaves a filter out. In the order of the statements' parameters.

    `reference` is the link's `external_id`, or its customer's e-mail.
    """

    status: str | None = None
    currency: str | None = None
    payment_link_id: UUID | None = None
    method_id: str | None = None
    project_id: UUID | None = None
    reference: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


class PaymentsQuery(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """The filters in the address of the list and of the export. Empty is no filter; what there is not matches nothing.

    `from` and `to` are days, both included; they begin in the merchant's time zone.
    """

    status: Literal["", TransactionStatus] = ""
    method_id: str = ""
    currency: str = ""
    project_id: str = ""
    payment_link_id: str = ""
    reference: str = ""
    start: str = msgspec.field(name="from", default="")
    to: str = ""

    @property
    def filters(self) -> int:
        """By how many things the list is filtered."""
        asked = (self.status, self.method_id, self.currency, self.project_id, self.payment_link_id, self.reference)
        return sum(bool(one) for one in (*asked, self.start, self.to))

    @property
    def asked(self) -> dict[str, str]:
        """What stands in the fields of the form."""
        fields = {field.encode_name: getattr(self, field.name) for field in msgspec.structs.fields(type(self))}
        return {name: value for name, value in fields.items() if isinstance(value, str)}

    def wanted(self, zone: tzinfo) -> PaymentFilter:
        """What they mean. Raises `ValidationFailed` with every fault."""
        start, end = day_of(self.start), day_of(self.to)
        field_errors = [
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
        return PaymentFilter(
            status=self.status or None,
            currency=self.currency or None,
            payment_link_id=parse_id(self.payment_link_id),
            method_id=self.method_id or None,
            project_id=parse_id(self.project_id),
            reference=self.reference.strip() or None,
            created_from=None if start is None else midnight(start, zone),
            created_to=None if end is None else midnight(end + DAY, zone),
        )
