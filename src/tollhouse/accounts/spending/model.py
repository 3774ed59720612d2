"""Limits of a connection or an API key: as they are requested, stored and shown, and the error beyond them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel import limits, messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of, optional_amount_errors
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.text import Text, Translatable

LimitKind = Literal["withdrawals", "refunds", "balance_payments", "conversions", "fulfillments"]
"""What is limited.

withdrawals: Withdrawals, and refunds to another account than the one that paid.
refunds: Refunds of payments.
balance_payments: Payments from the balance to an application.
conversions: Conversions, in the currency that is given.
fulfillments: Orders of digital goods.
"""
LimitPeriod = Literal["transaction", "day", "month"]
"""What a limit is counted over.

transaction: Each one.
day: The last 24 hours.
month: The last 30 days.
"""
LimitReason = Literal["amount", "currency", "recipient", "expired", "standing_order"]
"""Why it is beyond the limits.

amount: It is more than the limit leaves.
currency: The kind is limited, and this currency is not listed.
recipient: Only certain saved recipients are allowed, and this is none of them.
expired: The time in `expires_at` has passed.
standing_order: It would run later, without being counted.
"""
PERIODS: dict[LimitPeriod, str] = {"transaction": "per_transaction", "day": "per_day", "month": "per_month"}
AMOUNTS = tuple(PERIODS.values())
Spent = Mapping[tuple[str, str], Mapping[str, int]]
"""What was used by kind and currency, in minor units: of the last `day` and `month`."""


class LimitRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A limit in one currency. Without any amount it allows the currency."""

    kind: LimitKind
    """What is limited. Currencies that are not listed for it are not allowed."""
    currency: str
    per_transaction: Annotated[Amount, example("50.00")] = None
    """Most of each one."""
    per_day: Annotated[Amount, example("200.00")] = None
    """Most within 24 hours."""
    per_month: Annotated[Amount, example("1000.00")] = None
    """Most within 30 days."""


class Limit(Struct, frozen=True, kw_only=True):
    """A limit as it is stored, in minor units. None is no limit."""

    kind: LimitKind
    currency: str
    per_transaction_minor: int | None = None
    per_day_minor: int | None = None
    per_month_minor: int | None = None


class LimitView(Struct, frozen=True, kw_only=True):
    """A limit in one currency."""

    kind: LimitKind
    """What is limited."""
    currency: str
    per_transaction: str | None
    """Most of each one; null if there is no such limit."""
    per_transaction_minor: int | None
    per_day: str | None
    """Most within 24 hours; null if there is no such limit."""
    per_day_minor: int | None
    per_month: str | None
    """Most within 30 days; null if there is no such limit."""
    per_month_minor: int | None


class RemainingLimitView(LimitView, frozen=True, kw_only=True):
    """A limit, and what it leaves now, to all connections of an application together."""

    per_day_remaining: str | None
    """What `per_day` leaves now; null if there is no such limit."""
    per_day_remaining_minor: int | None
    per_month_remaining: str | None
    """What `per_month` leaves now; null if there is no such limit."""
    per_month_remaining_minor: int | None


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of a connection or key. By default there are none.

    Nothing that is limited can be done from `expires_at` on. `recipients` are the saved recipients that are allowed.
    """

    limits: tuple[Limit, ...] = ()
    recipients: tuple[UUID, ...] | None = None
    expires_at: datetime | None = None

    @property
    def stored(self) -> str | None:
        """The value of the column; None without limits."""
        return None if self == NO_LIMITS else msgspec.json.encode(self).decode()

    def views(self, catalogue: Catalogue) -> list[LimitView]:
        """The limits as they are shown."""
        return [LimitView(**_amounts(limit, catalogue)) for limit in self.limits]

    def members(self, catalogue: Catalogue, expiry: Literal["expires_at", "limits_expire_at"]) -> dict[str, Any]:
        """The members of a key or connection that has these limits; the last one is named by `expiry`."""
        return {
            "limits": self.views(catalogue),
            "recipients": None if self.recipients is None else list(self.recipients),
            expiry: stamp_or_none(self.expires_at),
        }

    def remaining(self, spent: Spent, catalogue: Catalogue) -> list[RemainingLimitView]:
        """The limits with what they leave."""
        return [_remaining(limit, spent.get((limit.kind, limit.currency), {}), catalogue) for limit in self.limits]

    def described(self, catalogue: Catalogue) -> dict[str, object]:
        """The limits as the audit log records them."""
        lines = [_described(limit, catalogue) for limit in self.limits]
        return {
            "limits": lines,
            "recipients": None if self.recipients is None else [str(recipient) for recipient in self.recipients],
            "limits_expire_at": None if self.expires_at is None else stamp(self.expires_at),
        }

    def raises(self, before: "Limits") -> bool:
        """Whether these limits allow anything that those before did not."""
        return (
            _is_more(self.expires_at, before.expires_at)
            or _is_wider(self.recipients, before.recipients)
            or any(_is_raised(kind, self.limits, before.limits) for kind in {limit.kind for limit in before.limits})
        )


NO_LIMITS = Limits()


def read_limits(column: str | None) -> Limits:
    """The limits of a column."""
    return NO_LIMITS if column is None else msgspec.json.decode(column, type=Limits)


def limits_errors(
    requests: Sequence[LimitRequest], recipients: Sequence[UUID] | None, catalogue: Catalogue, field: str = "limits"
) -> Iterator[FieldError]:
    """The errors of requested limits and recipients that need no lookup."""
    yield from limit_errors(requests, catalogue, field)
    if recipients is not None and len(recipients) > limits.LIMIT_RECIPIENTS_MAX:
        yield FieldError("recipients", "too_many", messages.items(None, limits.LIMIT_RECIPIENTS_MAX))


def limit_errors(requests: Sequence[LimitRequest], catalogue: Catalogue, field: str = "limits") -> Iterator[FieldError]:
    """The errors of requested limits."""
    if len(requests) > limits.LIMITS_MAX:
        yield FieldError(field, "too_many", messages.items(None, limits.LIMITS_MAX))
    seen: set[tuple[str, str]] = set()
    for place, request in enumerate(requests):
        known = catalogue.currencies.get(request.currency)
        if known is None:
            yield FieldError(f"{field}.{place}.currency", "invalid_currency", messages.A_CURRENCY)
        elif (request.kind, request.currency) in seen:
            yield FieldError(f"{field}.{place}.currency", "duplicate", messages.NO_REPEAT)
        seen.add((request.kind, request.currency))
        for name in AMOUNTS:
            amount, member = getattr(request, name), f"{field}.{place}.{name}"
            if known is None:
                yield from optional_amount_errors(amount, member)
            elif amount is not None and minor_of(amount, known) is None:
                yield amount_error(known, member)


def to_limits(requests: Sequence[LimitRequest], catalogue: Catalogue) -> tuple[Limit, ...]:
    """The limits of a request without errors."""
    return tuple(
        Limit(
            kind=request.kind,
            currency=request.currency,
            **{
                f"{name}_minor": minor_of(getattr(request, name), catalogue.currencies[request.currency]) for name in AMOUNTS
            },
        )
        for request in requests
    )


def limits_of(
    requests: Sequence[LimitRequest],
    recipients: Sequence[UUID] | None,
    expires_at: datetime | None,
    catalogue: Catalogue,
) -> Limits:
    """The limits of a request without errors."""
    return Limits(
        limits=to_limits(requests, catalogue),
        recipients=None if recipients is None else tuple(dict.fromkeys(recipients)),
        expires_at=expires_at,
    )


def _amounts(limit: Limit, catalogue: Catalogue) -> Mapping[str, Any]:
    known = catalogue.currencies.get(limit.currency)
    members: dict[str, Any] = msgspec.structs.asdict(limit)
    for name in AMOUNTS:
        minor = members[f"{name}_minor"]
        members[name] = None if minor is None or known is None else known.format(minor)
    return members


def _remaining(limit: Limit, spent: Mapping[str, int], catalogue: Catalogue) -> RemainingLimitView:
    members, known = dict(_amounts(limit, catalogue)), catalogue.currencies.get(limit.currency)
    for name, period in (("per_day", "day"), ("per_month", "month")):
        most_minor = members[f"{name}_minor"]
        left_minor = None if most_minor is None else max(0, most_minor - spent.get(period, 0))
        members[f"{name}_remaining_minor"] = left_minor
        members[f"{name}_remaining"] = None if left_minor is None or known is None else known.format(left_minor)
    return RemainingLimitView(**members)


def _described(limit: Limit, catalogue: Catalogue) -> str:
    amounts = _amounts(limit, catalogue)
    bounds = [f"{name} {amounts[name]}" for name in AMOUNTS if amounts[name] is not None]
    return " ".join((limit.kind, limit.currency, *bounds))


def _is_more(new: Any, old: Any) -> bool:
    """Whether a bound is higher than before; None is none."""
    return old is not None and (new is None or new > old)


def _is_wider(new: Sequence[UUID] | None, old: Sequence[UUID] | None) -> bool:
    return old is not None and (new is None or not set(new) <= set(old))


def _is_raised(kind: str, new: Sequence[Limit], old: Sequence[Limit]) -> bool:
    """Whether a kind that was limited is less so."""
    before = {limit.currency: limit for limit in old if limit.kind == kind}
    after = {limit.currency: limit for limit in new if limit.kind == kind}
    return not after or any(
        code not in before
        or any(_is_more(getattr(limit, f"{name}_minor"), getattr(before[code], f"{name}_minor")) for name in AMOUNTS)
        for code, limit in after.items()
    )


BEYOND: Mapping[LimitReason, str] = {
    "currency": "The limits of the connection or API key do not allow this currency.",
    "recipient": "The limits of the connection or API key do not allow this recipient.",
    "expired": "The time in the limits of the connection or API key has passed: it cannot move money any more.",
    "standing_order": "The connection or API key has limits, so it cannot set up what runs later without being counted.",
}
"""What is said for each reason but `amount`."""


def _exceeded(currency: str, exceeded: "ExceededLimit", catalogue: Catalogue) -> Translatable:
    if exceeded.reason != "amount":
        return BEYOND[exceeded.reason]
    most, left = (
        Decimal(catalogue.format_amount(minor, currency)) for minor in (exceeded.limit_minor, exceeded.remaining_minor)
    )
    match exceeded.period:
        case "transaction":
            return Text("This exceeds the limit of %(most)s %(currency)s for each one.", most=most, currency=currency)
        case "day":
            return Text(
                "This exceeds what is left in 24 hours: %(left)s of %(most)s %(currency)s.",
                left=left,
                most=most,
                currency=currency,
            )
        case "month":
            return Text(
                "This exceeds what is left in 30 days: %(left)s of %(most)s %(currency)s.",
                left=left,
                most=most,
                currency=currency,
            )


class ConnectionLimitExceeded(ApiError):
    """403: the connection or API key has limits, and this is beyond them. Nothing was reserved.

    `details` names the limit and what it leaves; `resets_at` is when this amount fits again, and null if it never does.
    """

    code, status = "connection_limit_exceeded", 403
    message = "This exceeds the limits of the connection or API key."
    solution = "Send a smaller amount, wait until `details.resets_at`, or ask the merchant to raise the limit."

    def __init__(self, kind: LimitKind, currency: str, exceeded: "ExceededLimit", catalogue: Catalogue) -> None:
        message = _exceeded(currency, exceeded, catalogue)
        super().__init__(message, members={"details": {"kind": kind, "currency": currency, **msgspec.to_builtins(exceeded)}})


class ExceededLimit(Struct, frozen=True, kw_only=True):
    """The limit that refuses something, as `details` of the error."""

    period: LimitPeriod
    limit_minor: int
    remaining_minor: int
    resets_at: Timestamp | None
    reason: LimitReason
