"""Errors of withdrawals."""

from tollhouse.kernel.errors import ApiError, FieldError


class InvalidReceiver(ApiError):
    """422: the rail cannot send money to this receiver."""

    code, status, message = "invalid_receiver", 422, "Withdrawals to this recipient are not possible."

    def __init__(self, reason: str) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, reason)])


class AmountBelowFees(ApiError):
    """422: the fees are as high as the amount, or higher."""

    code, status, message = "amount_below_fees", 422, "The amount does not cover the fees."

    def __init__(self, fees_minor: int) -> None:
        super().__init__(members={"details": {"fees_minor": fees_minor}})
