"""Errors of withdrawals."""

from uuid import UUID

from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.text import Translatable


class InvalidReceiver(ApiError):
    """422: the rail cannot send money to this receiver."""

    code, status, message = "invalid_receiver", 422, "Withdrawals to this recipient are not possible."

    def __init__(self, reason: Translatable) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, reason)])


class RecipientExists(ApiError):
    """409: a recipient of this method with this account is saved; `details.existing_id` is its id."""

    code, status = "recipient_exists", 409
    message = "This recipient is saved already. To change it, delete it and create it again."

    def __init__(self, existing_id: UUID | None) -> None:
        super().__init__(members=None if existing_id is None else {"details": {"existing_id": str(existing_id)}})


class TooManyRecipients(ApiError):
    """409: the environment has the maximum number of saved recipients."""

    code, status, message = "too_many_recipients", 409, "This account has 500 recipients. Delete one to add another."


class TooManySchedules(ApiError):
    """409: the environment has the maximum number of schedules."""

    code, status, message = "too_many_schedules", 409, "This account has 50 schedules. End one to create another."


class BatchExists(ApiError):
    """409: the batch of this form was created before."""

    code, status, message = "batch_exists", 409, "This batch was created before."
