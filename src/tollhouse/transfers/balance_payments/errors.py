"""Errors of balance payments."""

from collections.abc import Mapping

from tollhouse.kernel.errors import ApiError


class SelfPayment(ApiError):
    """422: the application belongs to the paying merchant."""

    code, status = "self_payment_not_allowed", 422
    message = "The application belongs to the paying merchant. A merchant cannot pay itself."


class CaptureTooLarge(ApiError):
    """422: the capture exceeds the reserved amount."""

    code, status = "amount_above_maximum", 422
    message = "The capture exceeds the reserved amount."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class PayerSuspended(ApiError):
    """409: nothing is captured from a suspended merchant. Its reservations can be released, and expire."""

    code, status = "payer_suspended", 409
    message = "The paying merchant is suspended. The reservation can only be released."


class RevokedApplicationCapture(ApiError):
    """409: reservations of a revoked application can be released only."""

    code, status = "application_revoked", 409
    message = "This application is revoked. Its reservations can only be released."
