"""Errors that several kinds of orders answer with."""

from collections.abc import Mapping
from uuid import UUID

from tollhouse.kernel.errors import ApiError, FieldError


class InvalidState(ApiError):
    """409: the object's status does not allow the action; `details.status` is the current status."""

    code, status, message = "invalid_state", 409, "The current status does not allow this."
    solution = "Read the object again. `details.status` is its current status."

    def __init__(self, status: str) -> None:
        super().__init__(members={"details": {"status": status}})


class DuplicateExternalId(ApiError):
    """409: another object of the same kind and environment has this `external_id`.

    `details.existing_id` is its id; left out where the caller may not see that object.
    """

    code, status, message = "duplicate_external_id", 409, "This external_id is already in use. Send a different one."
    solution = "Find the existing object by the filter `external_id`, or send another one."

    def __init__(self, existing_id: UUID | None) -> None:
        super().__init__(members=None if existing_id is None else {"details": {"existing_id": str(existing_id)}})


class CurrencyNotSupported(ApiError):
    """422: the operation is not available in a currency; `errors` names the members that hold it."""

    code, status, message = "currency_not_supported", 422, "This currency is not supported for this operation."
    solution = "Choose a currency whose `operations` in the list of currencies allow it."

    def __init__(self, *members: str) -> None:
        field_errors = [FieldError(member, self.code, self.message) for member in members or ("currency",)]
        super().__init__(field_errors=field_errors)


class AmountBelowMinimum(ApiError):
    """422: the amount is below the minimum of the method or pair."""

    code, status, message = "amount_below_minimum", 422, "The amount is below the minimum."
    solution = "Send an amount of at least `minimum_minor` of the method or pair."

    def __init__(self, minimum_minor: int) -> None:
        super().__init__(members={"details": {"minimum_minor": minimum_minor}})


class AmountAboveMaximum(ApiError):
    """422: the amount is above the maximum of the method or pair."""

    code, status, message = "amount_above_maximum", 422, "The amount is above the maximum."
    solution = "Send an amount of at most `maximum_minor` of the method or pair."

    def __init__(self, maximum_minor: int) -> None:
        super().__init__(members={"details": {"maximum_minor": maximum_minor}})


class AmountBelowFees(ApiError):
    """422: the fees are as high as the amount, or higher."""

    code, status, message = "amount_below_fees", 422, "The amount does not cover the fees."
    solution = "Send a larger amount, or `network_fee_mode: add`."

    def __init__(self, fees_minor: int) -> None:
        super().__init__(members={"details": {"fees_minor": fees_minor}})


class PriceChanged(ApiError):
    """422: the current price is outside the limit that the request sets; `details` has the current amounts."""

    code, status, message = "price_changed", 422, "The price has changed and no longer meets the limit you set."
    solution = "Decide by the amounts in `details`, then send the request with a new limit."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class QuoteExpired(ApiError):
    """409: the quote has expired."""

    code, status, message = "quote_expired", 409, "The quote has expired. Request a new one."
    solution = "Request a new quote and use it before `expires_at`."


class QuoteAlreadyUsed(ApiError):
    """409: the quote was already used."""

    code, status, message = "quote_already_used", 409, "The quote has already been used. Request a new one."
    solution = "Request a new quote."


class RefundTooLarge(ApiError):
    """422: the refund is larger than the amount that can still be refunded; pending refunds count as refunded."""

    code, status = "refund_amount_exceeds_remaining", 422
    message = "The refund exceeds the amount that can still be refunded."
    solution = "Send an amount of at most `refundable_amount` of the payment."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class InvalidProject(ApiError):
    """422: no approved project of this environment, or none named where the merchant has several."""

    code, status, message = "invalid_project", 422, "Enter the ID of an approved project in this environment."
    solution = "Send the `project_id` of an approved project of this environment."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("project_id", self.code, self.message)])
