"""How requests about withdrawals are refused."""

from uuid import UUID

from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.withdrawals.model import WithdrawalStatus


class InvalidReceiver(ApiError):
    """422: money cannot go to this receiver."""

    code, status = "invalid_receiver", 422
    message = "Money cannot be sent to this receiver."

    def __init__(self, why: str) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, why)])


class AmountBelowFees(ApiError):
    """422: the fees would leave nothing to send."""

    code, status, message = "amount_below_fees", 422, "The fees would leave nothing of the amount."

    def __init__(self, fees_minor: int) -> None:
        super().__init__(members={"details": {"fees_minor": fees_minor}})


class QuoteExpired(ApiError):
    """409: the time of the quote is over."""

    code, status, message = "quote_expired", 409, "The quote has expired: ask for a new one."


class QuoteAlreadyUsed(ApiError):
    """409: another withdrawal was made with the quote."""

    code, status, message = "quote_already_used", 409, "The quote was used before: ask for a new one."


class DuplicateExternalId(ApiError):
    """409: a withdrawal of this environment has this external_id."""

    code, status, message = "duplicate_external_id", 409, "There is a withdrawal with this external_id."

    def __init__(self, existing_id: UUID) -> None:
        super().__init__(members={"details": {"existing_id": str(existing_id)}})


class InvalidState(ApiError):
    """409: the state of the withdrawal does not allow this."""

    code, status, message = "invalid_state", 409, "The present state does not allow this."

    def __init__(self, status: WithdrawalStatus) -> None:
        super().__init__(members={"details": {"status": status}})
