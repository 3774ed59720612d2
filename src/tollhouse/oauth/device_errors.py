"""Errors of device authorization (RFC 8628)."""

from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.kernel.errors import ApiError


class UnauthorizedClient(ApiError):
    """400: the application's settings do not allow device authorization (RFC 8628)."""

    code, message = "unauthorized_client", "The settings of this application do not allow device authorization."
    solution = "Add the grant type of devices to `grant_types` of the application."


class AuthorizationPending(ApiError):
    """400: the merchant has not answered yet (RFC 8628 section 3.5)."""

    code, message = "authorization_pending", "The merchant has not answered yet. Ask again after the interval."
    solution = "Ask again after the interval."


class SlowDown(ApiError):
    """400: the device asked before the interval had passed, which is now 5 seconds longer."""

    code, message = "slow_down", "You asked too early. The interval is 5 seconds longer from now on."
    solution = "Add 5 seconds to the interval, and ask again after it."


class AccessDenied(ApiError):
    """400: the merchant denied the request of the device."""

    code, message = "access_denied", "The merchant denied the request."
    solution = "Stop asking. Start again if the merchant wants to connect after all."


class ExpiredToken(ApiError):
    """400: the device code has expired, or its application was changed."""

    code, message = "expired_token", "The device code has expired. Start again."
    solution = "Start again with a new code."


class TooManyDevices(RateLimited):
    """429: too many devices asked for a code from this address."""

    code, message = "temporarily_unavailable", "Too many codes were requested from this address. Try again later."
