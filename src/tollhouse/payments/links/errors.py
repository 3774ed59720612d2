"""Errors of requests about payment links."""

from tollhouse.kernel.errors import ApiError
from tollhouse.payments.links.model import LinkStatus


class LinkNotActive(ApiError):
    """409: a completed or expired link cannot be canceled."""

    code, status = "invalid_state", 409
    message = "Only an active payment link can be canceled."

    def __init__(self, status: LinkStatus) -> None:
        super().__init__(members={"details": {"status": status}})


class LinkExpired(ApiError):
    """410: the link has expired."""

    code, status = "payment_link_expired", 410
    message = "This payment link has expired."


class LinkCanceled(ApiError):
    """410: the merchant canceled the link."""

    code, status = "payment_link_canceled", 410
    message = "This payment link was canceled."


class MethodUnavailable(ApiError):
    """422: the payment method cannot be used now."""

    code, status = "method_unavailable", 422
    message = "This payment method is not available here."

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}} if reason else None)
