"""The errors of requests about refunds."""

from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.transactions.model import NotRefundable


class RefundNotAllowed(ApiError):
    """422: this payment cannot be refunded; `details.reason` says why."""

    code, status = "refund_not_allowed", 422
    message = "This payment cannot be refunded."

    def __init__(self, reason: NotRefundable) -> None:
        super().__init__(members={"details": {"reason": reason}})
        self.reason = reason


class ReceiverRequired(ApiError):
    """422: nobody knows one account that all of the payment came from, so the request has to name a receiver."""

    code, status = "receiver_required", 422
    message = "The account that paid is not known. Name the receiver of the refund."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, self.message)])


class ChargedBack(ApiError):
    """409: the customer's bank has the money, or is about to have it."""

    code, status = "payment_charged_back", 409
    message = "This payment was charged back: there is nothing to refund."
