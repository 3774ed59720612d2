"""Errors of fulfillments."""

from tollhouse.kernel.catalogue.products import UnavailableReason
from tollhouse.kernel.errors import ApiError, FieldError


class ProductUnavailable(ApiError):
    """422: the product is unknown or unavailable; `details.unavailable_reason` says why."""

    code, status = "product_unavailable", 422
    message = "This product is not available."

    def __init__(self, reason: UnavailableReason | None) -> None:
        super().__init__(
            field_errors=[FieldError("product_id", self.code, self.message)],
            members=None if reason is None else {"details": {"unavailable_reason": reason}},
        )
