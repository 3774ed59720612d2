"""How requests about payments are refused."""

from typing import Literal

from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.payments.model import LinkStatus

NotRefundable = Literal["not_refundable_method", "status", "window_passed"]


class LinkNotActive(ApiError):
    """409: a completed or expired link cannot be canceled."""

    code, status = "invalid_state", 409
    message = "Only an active payment link can be canceled."

    def __init__(self, status: LinkStatus) -> None:
        super().__init__(members={"details": {"status": status}})


class LinkExpired(ApiError):
    """410: the time to pay the link is over."""

    code, status = "payment_link_expired", 410
    message = "This payment link has expired."


class LinkCanceled(ApiError):
    """410: the merchant canceled the link."""

    code, status = "payment_link_canceled", 410
    message = "This payment link was canceled."


class MethodUnavailable(ApiError):
    """422: the method cannot be used for this now."""

    code, status = "method_unavailable", 422
    message = "This payment method is not available here."

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}} if reason else None)


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
