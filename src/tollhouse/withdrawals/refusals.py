"""How requests about withdrawals are refused."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.clock import stamp
from tollhouse.kernel.refusals import Fault, Refusal
from tollhouse.withdrawals.model import WithdrawalStatus


class MethodUnavailable(Refusal):
    """422: there is no such method, or it cannot be used in this environment now."""

    code, status = "method_unavailable", 422
    message = "This withdrawal method is not available here."

    def __init__(self, reason: str | None = None) -> None:
        details = {} if reason is None else {"details": {"unavailable_reason": reason}}
        super().__init__(faults=[Fault("method_id", self.code, self.message)], members=details)


class InvalidReceiver(Refusal):
    """422: money cannot go to this receiver."""

    code, status = "invalid_receiver", 422
    message = "Money cannot be sent to this receiver."

    def __init__(self, why: str) -> None:
        super().__init__(faults=[Fault("receiver", self.code, why)])


class AmountBelowMinimum(Refusal):
    """422: less than the method takes."""

    code, status, message = "amount_below_minimum", 422, "The amount is below the minimum of the method."

    def __init__(self, minimum_minor: int) -> None:
        super().__init__(members={"details": {"minimum_minor": minimum_minor}})


class AmountAboveMaximum(Refusal):
    """422: more than the method takes."""

    code, status, message = "amount_above_maximum", 422, "The amount is above the maximum of the method."

    def __init__(self, maximum_minor: int) -> None:
        super().__init__(members={"details": {"maximum_minor": maximum_minor}})


class AmountBelowFees(Refusal):
    """422: the fees would leave nothing to send."""

    code, status, message = "amount_below_fees", 422, "The fees would leave nothing of the amount."

    def __init__(self, fees_minor: int) -> None:
        super().__init__(members={"details": {"fees_minor": fees_minor}})


class DailyLimitExceeded(Refusal):
    """422: more than is left of the method's limit for this day."""

    code, status, message = "daily_limit_exceeded", 422, "The amount is more than is left of the daily limit of the method."

    def __init__(self, remaining_minor: int, resets_at: datetime) -> None:
        super().__init__(members={"details": {"remaining_minor": remaining_minor, "resets_at": stamp(resets_at)}})


class QuoteExpired(Refusal):
    """409: the time of the quote is over."""

    code, status, message = "quote_expired", 409, "The quote has expired: ask for a new one."


class QuoteAlreadyUsed(Refusal):
    """409: another withdrawal was made with the quote."""

    code, status, message = "quote_already_used", 409, "The quote was used before: ask for a new one."


class DuplicateExternalId(Refusal):
    """409: a withdrawal of this environment has this external_id."""

    code, status, message = "duplicate_external_id", 409, "There is a withdrawal with this external_id."

    def __init__(self, existing_id: UUID) -> None:
        super().__init__(members={"details": {"existing_id": str(existing_id)}})


class NotNow(Refusal):
    """409: the state of the withdrawal does not allow this."""

    code, status, message = "invalid_state", 409, "The present state does not allow this."

    def __init__(self, status: WithdrawalStatus) -> None:
        super().__init__(members={"details": {"status": status}})


class ApprovedBefore(Refusal):
    """409: this operator has approved it; another one must."""

    code, status, message = "invalid_state", 409, "You have approved it: a second operator must approve it too."
