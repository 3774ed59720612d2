"""Errors of requests about refunds."""

from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.payments.transactions.model import REFUNDS_MAX, NotRefundable


class RefundNotAllowed(ApiError):
    """422: this payment cannot be refunded; `details.reason` is the reason."""

    code, status = "refund_not_allowed", 422
    message = "This payment cannot be refunded."

    def __init__(self, reason: NotRefundable) -> None:
        super().__init__(members={"details": {"reason": reason}})
        self.reason = reason


class ReceiverRequired(ApiError):
    """422: the payer's account is unknown, so the request must name a receiver."""

    code, status = "receiver_required", 422
    message = "The paying account is unknown. Enter the recipient of the refund."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, self.message)])


class RefundLimitReached(ApiError):
    """409: so many refunds of the payment have succeeded or are pending; only all that is left can be refunded."""

    code, status = "refund_limit_reached", 409
    message = "This payment has 20 refunds already. Only everything that is left can still be refunded."

    def __init__(self) -> None:
        super().__init__(members={"details": {"limit": REFUNDS_MAX}})


class ChargedBack(ApiError):
    """409: the payment has been charged back."""

    code, status = "payment_charged_back", 409
    message = "This payment was charged back and cannot be refunded."
