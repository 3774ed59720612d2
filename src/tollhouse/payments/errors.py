"""How requests about payments are refused."""

from collections.abc import Mapping
from typing import Literal

from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.payments.model import LinkStatus, TransactionStatus

NotRefundable = Literal["not_refundable_method", "status", "window_passed"]


class CurrencyNotSupported(ApiError):
    """422: links cannot be paid in this currency."""

    code, status = "currency_not_supported", 422
    message = "Payments are not possible in this currency."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("currency", self.code, self.message)])


class InvalidProject(ApiError):
    """422: no such approved project in this environment, or not said which of several."""

    code, status = "invalid_project", 422
    message = "Name an approved project of this environment."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("project_id", self.code, self.message)])


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


class InvalidState(ApiError):
    """409: the state of the object does not allow this."""

    code, status = "invalid_state", 409
    message = "The present state does not allow this."

    def __init__(self, status: TransactionStatus | str) -> None:
        super().__init__(members={"details": {"status": status}})


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


class RefundTooLarge(ApiError):
    """422: more than is left of the payment, the refunds under way counted as gone."""

    code, status = "refund_amount_exceeds_remaining", 422
    message = "The refund is larger than what is left of the payment."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class ChargedBack(ApiError):
    """409: the customer's bank has the money, or is about to have it."""

    code, status = "payment_charged_back", 409
    message = "This payment was charged back: there is nothing to refund."
