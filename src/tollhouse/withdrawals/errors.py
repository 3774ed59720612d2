"""How requests about withdrawals are refused."""

from tollhouse.kernel.errors import ApiError, FieldError


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
