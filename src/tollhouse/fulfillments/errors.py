"""How requests about fulfillments are refused."""

from collections.abc import Mapping
from uuid import UUID

from tollhouse.catalogue.products import UnavailableReason
from tollhouse.fulfillments.model import Status
from tollhouse.kernel.errors import ApiError, FieldError


class ProductUnavailable(ApiError):
    """422: there is no such product here, or it cannot be delivered; `details.unavailable_reason` says why."""

    code, status = "product_unavailable", 422
    message = "This product cannot be delivered here."

    def __init__(self, reason: UnavailableReason | None) -> None:
        super().__init__(
            field_errors=[FieldError("product_id", self.code, self.message)],
            members=None if reason is None else {"details": {"unavailable_reason": reason}},
        )


class PriceChanged(ApiError):
    """422: it costs more than `max_cost`."""

    code, status, message = "price_changed", 422, "This costs more than max_cost."

    def __init__(self, details: Mapping[str, object]) -> None:
        super().__init__(members={"details": dict(details)})


class InvalidProject(ApiError):
    """422: there is no such approved project in this environment."""

    code, status = "invalid_project", 422
    message = "Name an approved project of this environment."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("project_id", self.code, self.message)])


class DuplicateExternalId(ApiError):
    """409: `details.existing_id` is the fulfillment that has it."""

    code, status, message = "duplicate_external_id", 409, "There is a fulfillment with this external_id."

    def __init__(self, existing_id: UUID) -> None:
        super().__init__(members={"details": {"existing_id": existing_id}})


class InvalidState(ApiError):
    """409: the state of the fulfillment does not allow this."""

    code, status = "invalid_state", 409
    message = "The present state does not allow this."

    def __init__(self, status: Status) -> None:
        super().__init__(members={"details": {"status": status}})
