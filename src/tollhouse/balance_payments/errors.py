"""How requests about balance payments are refused."""

from collections.abc import Mapping
from uuid import UUID

from tollhouse.balance_payments.model import Status
from tollhouse.kernel.errors import ApiError, FieldError


class CurrencyNotSupported(ApiError):
    """422: balance payments are not made in this currency."""

    code, status = "currency_not_supported", 422
    message = "Balance payments are not possible in this currency."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("currency", self.code, self.message)])


class SelfPayment(ApiError):
    """422: the application belongs to the merchant that would pay."""

    code, status = "self_payment_not_allowed", 422
    message = "This application is the merchant's own: a merchant cannot pay itself."


class DuplicateExternalId(ApiError):
    """409: `details.existing_id` is the payment that has it, where the caller may see that one."""

    code, status, message = "duplicate_external_id", 409, "There is a balance payment with this external_id."

    def __init__(self, existing_id: UUID | None) -> None:
        super().__init__(members=None if existing_id is None else {"details": {"existing_id": existing_id}})


class InvalidState(ApiError):
    """409: the state of the payment does not allow this."""

    code, status = "invalid_state", 409
    message = "The present state does not allow this."

    def __init__(self, status: Status) -> None:
        super().__init__(members={"details": {"status": status}})


class MoreThanReserved(ApiError):
    """422: the capture is larger than the reservation."""

    code, status = "amount_above_maximum", 422
    message = "No more can be captured than was reserved."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class MoreThanLeft(ApiError):
    """422: the refund is larger than what is left of the payment."""

    code, status = "refund_amount_exceeds_remaining", 422
    message = "The refund is larger than what is left of the payment."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class ApplicationRevoked(ApiError):
    """409: what a revoked application has reserved can be given back, and nothing else."""

    code, status = "application_revoked", 409
    message = "This application is revoked: its reservations can only be released."
