"""How requests about balance payments are refused."""

from collections.abc import Mapping

from tollhouse.kernel.errors import ApiError


class SelfPayment(ApiError):
    """422: the application belongs to the merchant that would pay."""

    code, status = "self_payment_not_allowed", 422
    message = "This application is the merchant's own: a merchant cannot pay itself."


class CaptureTooLarge(ApiError):
    """422: the capture is larger than the reservation."""

    code, status = "amount_above_maximum", 422
    message = "No more can be captured than was reserved."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class ApplicationRevoked(ApiError):
    """409: what a revoked application has reserved can be given back, and nothing else."""

    code, status = "application_revoked", 409
    message = "This application is revoked: its reservations can only be released."
