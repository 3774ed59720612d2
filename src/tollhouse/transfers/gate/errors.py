"""Errors of outgoing transfers."""

from datetime import datetime

from tollhouse.kernel import messages
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.transfers.gate.model import Review


class WithdrawalMethodUnavailable(ApiError):
    """422: the method does not exist or is unavailable in this environment."""

    code, status = "method_unavailable", 422
    message = "This withdrawal method is not available in this environment."

    def __init__(self, reason: str | None = None) -> None:
        details = {} if reason is None else {"details": {"unavailable_reason": reason}}
        super().__init__(field_errors=[FieldError("method_id", self.code, self.message)], members=details)


class DailyLimitExceeded(ApiError):
    """422: the amount exceeds the method's daily limit."""

    code, status, message = "daily_limit_exceeded", 422, "The amount exceeds what is left of the method's daily limit."

    def __init__(self, remaining_minor: int, resets_at: datetime) -> None:
        super().__init__(members={"details": {"remaining_minor": remaining_minor, "resets_at": stamp(resets_at)}})


class RecipientNotSaved(ApiError):
    """422: the merchant withdraws only to saved recipients, and this is none."""

    code, status = "recipient_not_saved", 422
    message = "This account withdraws only to saved recipients. Add the recipient first."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, messages.A_SAVED_RECIPIENT)])


class RecipientNotActive(ApiError):
    """422: the saved recipient was added a short time ago; `details.active_at` is when it can be paid."""

    code, status, message = "recipient_not_active", 422, "This recipient was added recently and cannot be paid yet."

    def __init__(self, active_at: datetime) -> None:
        super().__init__(members={"details": {"active_at": stamp(active_at)}})


RECIPIENT_ERRORS = (RecipientNotSaved, RecipientNotActive)
"""The errors of money that leaves to another account than that of a payer."""


class NotReleased(ApiError):
    """409: the review does not allow the transfer, or it has ended."""

    code, status, message = "invalid_state", 409, "The transfer has not been approved, or it has ended."

    def __init__(self, review: Review) -> None:
        super().__init__(members={"details": {"review": review}})


class PasswordWasReset(ApiError):
    """409: a password of the merchant was reset, and fewer than two operators have approved the transfer."""

    code, status = "invalid_state", 409
    message = (
        "A password of the merchant was reset, and fewer than two operators have approved the payout. It leaves "
        "72 hours after the reset."
    )

    def __init__(self, until: datetime) -> None:
        super().__init__(members={"details": {"until": stamp(until)}})


class MerchantSuspended(ApiError):
    """403: the merchant is suspended."""

    code, status, message = "account_suspended", 403, "The merchant is suspended. Its payouts are blocked."
